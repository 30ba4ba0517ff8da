/**
 * One Lua script per operation: atomic, one round trip, one key (so that a cluster can run it), the server's clock.
 *
 * The key of a call is a hash. `expires` is when the key leaves, in ms. Field `n` is round n: attempt, count of steps,
 * end of the lease in ms, owner (empty: released) and answers, with NUL between, which no owner or answers contain.
 * `n:step:1` and on, `n:outcome` and `n:journal` are bytes as they came. `n:op:<id>` marks a step's command as done: a
 * client may send a command again after a reconnection.
 */

const START = `
local key, round, owner = KEYS[1], ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local row = redis.call('HMGET', key, 'expires', round)
local expires, attempt, steps, lease, holder, answers = tonumber(row[1] or 0), 1, 0, 0, '', ARGV[3]
if row[2] then
  attempt, steps, lease, holder, answers = string.match(row[2], '^(%d+)%z(%d+)%z(%d+)%z([^%z]*)%z([^%z]*)$')
end
`;

/** Ends the script with 0 unless the caller owns the round. */
const HELD = `
if not row[2] or holder ~= owner then return 0 end
local ended = redis.call('HEXISTS', key, round .. ':outcome') == 1
`;

/** Writes the round, and makes the key stay: a quarter longer than asked, so that a quick call need not move it again. */
const WRITE = `
local function write(leaseUntil, keep)
  local fields = attempt .. '\\0' .. steps .. '\\0' .. leaseUntil .. '\\0' .. holder .. '\\0' .. answers
  if expires >= now + keep then
    redis.call('HSET', key, round, fields)
  else
    keep = math.ceil(keep * 1.25)
    redis.call('HSET', key, round, fields, 'expires', now + keep)
    redis.call('PEXPIRE', key, keep)
  end
end
`;

/**
 * ARGV: round, owner, answers, leaseMs, keepMs, wantJournal ("1" or "").
 * Reply: [0, attempt, count of steps, steps..., chunks...] won; [1, lease left]; [2, outcome]; [3] other answers.
 */
const CLAIM = `${START}${WRITE}
if row[2] then
  if answers ~= ARGV[3] then return {3} end
  local outcome = redis.call('HGET', key, round .. ':outcome')
  if outcome then return {2, outcome} end
  if holder ~= owner then
    if holder ~= '' and lease - now > 0 then return {1, lease - now} end
    attempt = attempt + 1
  end
end
holder = owner
write(now + ARGV[4], math.max(ARGV[4], ARGV[5]))
local reply = {0, tonumber(attempt), tonumber(steps)}
for step = 1, steps do reply[#reply + 1] = redis.call('HGET', key, round .. ':step:' .. step) end
if ARGV[6] == '1' then
  for earlier = 0, round - 1 do
    local chunk = redis.call('HGET', key, earlier .. ':journal')
    if chunk then reply[#reply + 1] = chunk end
  end
end
return reply
`;

/** ARGV: round, owner, leaseMs, entry, id of this command. */
const RECORD_STEP = `${START}${WRITE}${HELD}
if ended then return 0 end
if redis.call('HSETNX', key, round .. ':op:' .. ARGV[5], '') == 0 then return 1 end
steps = steps + 1
redis.call('HSET', key, round .. ':step:' .. steps, ARGV[4])
write(now + ARGV[3], tonumber(ARGV[3]))
return 1
`;

/** ARGV: round, owner, leaseMs. */
const RENEW = `${START}${WRITE}${HELD}
if ended then return 0 end
write(now + ARGV[3], tonumber(ARGV[3]))
return 1
`;

/** ARGV: round, owner, keepMs, outcome, and the journal chunk if there is one. */
const SETTLE = `${START}${HELD}
if ended then return 1 end
local keep = tonumber(ARGV[3])
local fields = {round .. ':outcome', ARGV[4]}
if ARGV[5] then fields[3], fields[4] = round .. ':journal', ARGV[5] end
if expires < now + keep then
  keep = math.ceil(keep * 1.25)
  fields[#fields + 1] = 'expires'
  fields[#fields + 1] = now + keep
  redis.call('PEXPIRE', key, keep)
end
redis.call('HSET', key, unpack(fields))
return 1
`;

/** ARGV: round, owner. */
const RELEASE = `${START}${WRITE}${HELD}
if ended then return 0 end
holder = ''
write(lease, 0)
return 1
`;

export const SCRIPTS = {
  claim: CLAIM,
  recordStep: RECORD_STEP,
  renew: RENEW,
  settle: SETTLE,
  release: RELEASE,
} as const;

export type ScriptName = keyof typeof SCRIPTS;
