/**
 * One Lua script per operation: atomic, one round trip, one key (so that a cluster can run it), the server's clock. What
 * nearly every claim and settle finds is decided first, by as few calls as can be.
 *
 * The key of a call is a hash, and its time to live is how long the call is remembered. Field `n` is round n, with NUL
 * between its parts, which no owner or answers contain:
 *
 *     r<owner> <answers> <end of the lease in ms> <attempt> <count of steps>     running; without an owner: released
 *     s<owner> <answers> <outcome>                                               settled
 *
 * `n:step:1` and on, and `n:journal`, are bytes as they came. `n:op:<id>` marks a step's command as done: a client may
 * send a command again after a reconnection.
 */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** Makes the key stay: a quarter longer than asked, so that a quick call need not move it again. */
const KEEP = `
local function keep(ms)
  if redis.call('PTTL', KEYS[1]) < ms then redis.call('PEXPIRE', KEYS[1], math.ceil(ms * 1.25)) end
end
`;

/** Ends the script with 0 unless ARGV[2] owns round ARGV[1]. What follows the owner in `row` begins at `rest`. */
const HELD = `
local key, round, owner = KEYS[1], ARGV[1], ARGV[2] .. '\\0'
local row = redis.call('HGET', key, round)
if not row or string.sub(row, 2, #owner + 1) ~= owner then return 0 end
local ended, rest = string.byte(row) == 115, #owner + 2
`;

/** Reads the parts of a running round. */
const PARTS = `
local function parts(row) return string.match(row, '^r([^%z]*)%z([^%z]*)%z(%d+)%z(%d+)%z(%d+)$') end
local function write(round, owner, answers, lease, attempt, steps)
  redis.call('HSET', KEYS[1], round, table.concat({'r' .. owner, answers, lease, attempt, steps}, '\\0'))
end
`;

/**
 * ARGV: round, a running row up to its lease, leaseMs, keepMs, and "1" if the journal is wanted.
 * Reply: 1 for a new round without a journal; else [0, attempt, count of steps, steps..., chunks...] won;
 * [1, lease left]; [2, outcome]; [3] other answers.
 */
const CLAIM = `${NOW}${KEEP}${PARTS}
local key, round, mine = KEYS[1], ARGV[1], ARGV[2]
local lease = now + ARGV[3]
local attempt, steps = 1, 0
if redis.call('HSETNX', key, round, mine .. lease .. '\\0001\\0000') == 0 then
  local row = redis.call('HGET', key, round)
  local owner, answers = string.match(mine, '^r([^%z]*)%z([^%z]*)%z$')
  local _, ownerEnd = string.find(row, '\\0', 1, true)
  local _, answersEnd = string.find(row, '\\0', ownerEnd + 1, true)
  if string.sub(row, ownerEnd + 1, answersEnd - 1) ~= answers then return {3} end
  if string.byte(row) == 115 then return {2, string.sub(row, answersEnd + 1)} end
  local holder, _, leased, earlier, count = parts(row)
  attempt, steps = tonumber(earlier), tonumber(count)
  if holder ~= owner then
    if holder ~= '' and leased - now > 0 then return {1, leased - now} end
    attempt = attempt + 1
  end
  write(round, owner, answers, lease, attempt, steps)
elseif not ARGV[5] then
  keep(tonumber(ARGV[4]))
  return 1
end
keep(tonumber(ARGV[4]))
local reply = {0, attempt, steps}
for step = 1, steps do reply[#reply + 1] = redis.call('HGET', key, round .. ':step:' .. step) end
if ARGV[5] then
  for earlier = 0, round - 1 do
    local chunk = redis.call('HGET', key, earlier .. ':journal')
    if chunk then reply[#reply + 1] = chunk end
  end
end
return reply
`;

/** ARGV: round, owner, leaseMs, entry, id of this command. */
const RECORD_STEP = `${HELD}
if ended then return 0 end
if redis.call('HSETNX', key, round .. ':op:' .. ARGV[5], '') == 0 then return 1 end
${NOW}${KEEP}${PARTS}
local holder, answers, _, attempt, steps = parts(row)
steps = steps + 1
redis.call('HSET', key, round .. ':step:' .. steps, ARGV[4])
write(round, holder, answers, now + ARGV[3], attempt, steps)
keep(tonumber(ARGV[3]))
return 1
`;

/** ARGV: round, owner, leaseMs. */
const RENEW = `${HELD}
if ended then return 0 end
${NOW}${KEEP}${PARTS}
local holder, answers, _, attempt, steps = parts(row)
write(round, holder, answers, now + ARGV[3], attempt, steps)
keep(tonumber(ARGV[3]))
return 1
`;

/** ARGV: round, owner, keepMs, outcome, and the journal chunk if there is one. */
const SETTLE = `${HELD}
if ended then return 1 end
${KEEP}
local answersEnd = string.find(row, '\\0', rest, true)
redis.call('HSET', key, round, 's' .. string.sub(row, 2, answersEnd) .. ARGV[4])
if ARGV[5] then redis.call('HSET', key, round .. ':journal', ARGV[5]) end
keep(tonumber(ARGV[3]))
return 1
`;

/** ARGV: round, owner. */
const RELEASE = `${HELD}
if ended then return 0 end
redis.call('HSET', key, round, 'r' .. string.sub(row, rest - 1))
return 1
`;

export const SCRIPTS = {
  claim: CLAIM,
  recordStep: RECORD_STEP,
  renew: RENEW,
  settle: SETTLE,
  release: RELEASE,
} as const;
