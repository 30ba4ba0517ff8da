/**
 * One Lua script per operation: atomic, one round trip, the server's clock. All keys begin with KEYS[1], whose hash tag
 * puts them in one slot of a cluster.
 *
 *     :task:<id>               hash: the task. Gone when it can no longer be read, with the two below
 *     :answers:<id>            hash: key -> answer that no run has taken up
 *     :steps:<id>              hash: id of the command -> "<number>:<entry>", what runs since the last pause recorded
 *     :open:<owner>            ids of tasks that have not ended, by the end of their life
 *     :ends                    the same of all owners: "<id> <kind> <owner>", with NUL for each space
 *     :ready:<kind>:<owner>    ids of tasks that nobody runs, by when they are ready
 *     :owners:<kind>           owners who have such tasks, by when the first of them is ready
 *     :held                    ids of tasks that somebody runs, by the end of the lease
 *     :held:<owner>            the same of one owner
 *
 * All but the first three are sorted sets, by ms of the server's clock, so that no operation looks at every task: a claim
 * passes over the owners who run as many as they may, and over nothing else. ARGV[1] is the channel where it is said that
 * a task has become ready.
 */

const COMMON = `
local base, channel = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function whole(number) return string.format('%.0f', number) end
local function after(ms) return '(' .. whole(ms) end
local function from(id, ...) return unpack(redis.call('HMGET', base .. ':task:' .. id, ...)) end
local function write(id, ...) redis.call('HSET', base .. ':task:' .. id, ...) end

-- A member is never dropped while its task can be read; a set that nobody touches any more goes with its last task.
local function put(set, at, member, drop)
  local added = redis.call('ZADD', set, whole(at), member)
  if redis.call('PTTL', set) < drop - now then redis.call('PEXPIREAT', set, whole(drop)) end
  return added
end

local function rank(kind, owner, drop)
  local owners = base .. ':owners:' .. kind
  local first = redis.call('ZRANGE', base .. ':ready:' .. kind .. ':' .. owner, 0, 0, 'WITHSCORES')
  if first[2] then put(owners, tonumber(first[2]), owner, drop) else redis.call('ZREM', owners, owner) end
end

local function queue(id, drop)
  local kind, owner, wake, ends = from(id, 'kind', 'owner', 'wake', 'ends')
  -- One whose life is over waits for nobody.
  if tonumber(ends) <= now then return end
  put(base .. ':ready:' .. kind .. ':' .. owner, tonumber(wake), id, drop)
  rank(kind, owner, drop)
end

local function unqueue(id, kind, owner)
  if redis.call('ZREM', base .. ':ready:' .. kind .. ':' .. owner, id) == 1 then rank(kind, owner, 0) end
end

local function announce() redis.call('PUBLISH', channel, '') end

local function free(id, owner)
  redis.call('ZREM', base .. ':held:' .. owner, id)
  return redis.call('ZREM', base .. ':held', id) == 1
end

local function finish(id, body)
  local kind, owner = from(id, 'kind', 'owner')
  write(id, 'body', body, 'phase', 'ended', 'holder', '')
  redis.call('HDEL', base .. ':task:' .. id, 'note')
  redis.call('DEL', base .. ':steps:' .. id, base .. ':answers:' .. id)
  redis.call('ZREM', base .. ':open:' .. owner, id)
  redis.call('ZREM', base .. ':ends', id .. '\\0' .. kind .. '\\0' .. owner)
  if not free(id, owner) then unqueue(id, kind, owner) end
end
`;

/** Takes tasks whose life is over out of every set, \`most\` at most, and says whether there may be more. */
const SWEEP = `
local function sweep(most)
  local over = redis.call('ZRANGEBYSCORE', base .. ':ends', '-inf', whole(now), 'LIMIT', 0, most)
  for _, member in ipairs(over) do
    local id, kind, owner = string.match(member, '^(%Z*)%z(%Z*)%z(%Z*)$')
    redis.call('ZREM', base .. ':ends', member)
    redis.call('ZREM', base .. ':open:' .. owner, id)
    unqueue(id, kind, owner)
  end
  return #over == most
end
`;

/** Ends the script with \`lost\` unless ARGV[3] holds task ARGV[2]; prolongs its lease. */
const HELD = (lost: string) => `
local id = ARGV[2]
local holder, owner, kind, drop = from(id, 'holder', 'owner', 'kind', 'drop')
if holder ~= ARGV[3] then return ${lost} end
drop = tonumber(drop)
local function prolong(ms)
  local lease = now + ms
  write(id, 'lease', whole(lease))
  -- It is new there when the lease was over and nobody had taken the task yet.
  if put(base .. ':held', lease, id, drop) == 1 then unqueue(id, kind, owner) end
  put(base .. ':held:' .. owner, lease, id, drop)
end
`;

/** ARGV: channel, id, kind, owner, head, body, lifeMs, keepMs, maxOpen. */
const CREATE = `${COMMON}${SWEEP}
local id, kind, owner = ARGV[2], ARGV[3], ARGV[4]
sweep(16)
local task, open = base .. ':task:' .. id, base .. ':open:' .. owner
if redis.call('EXISTS', task) == 1 then return 'exists' end
if redis.call('ZCOUNT', open, after(now), '+inf') >= tonumber(ARGV[9]) then return 'full' end
local ends = now + ARGV[7]
local drop = ends + ARGV[8]
write(id, 'kind', kind, 'owner', owner, 'head', ARGV[5], 'body', ARGV[6], 'phase', 'ready', 'wake', whole(now),
  'holder', '', 'lease', 0, 'attempt', 0, 'cancelled', 0, 'ends', whole(ends), 'drop', whole(drop))
redis.call('PEXPIREAT', task, whole(drop))
put(open, ends, id, drop)
put(base .. ':ends', ends, id .. '\\0' .. kind .. '\\0' .. owner, drop)
queue(id, drop)
announce()
return 'created'
`;

/** ARGV: channel, id. Reply: owner, head, body, note, phase, cancelled, life left, then keys and answers. */
const READ = `${COMMON}
local id = ARGV[2]
local reply = redis.call('HMGET', base .. ':task:' .. id, 'owner', 'head', 'body', 'note', 'phase', 'cancelled', 'ends')
if not reply[1] then return false end
reply[7] = reply[7] - now
for _, part in ipairs(redis.call('HGETALL', base .. ':answers:' .. id)) do reply[#reply + 1] = part end
return reply
`;

/** ARGV: channel, id, then keys and answers. */
const ANSWER = `${COMMON}
local id = ARGV[2]
local phase, drop = from(id, 'phase', 'drop')
if not phase or phase == 'ended' then return end
local answers = base .. ':answers:' .. id
for at = 3, #ARGV, 2 do redis.call('HSETNX', answers, ARGV[at], ARGV[at + 1]) end
redis.call('PEXPIREAT', answers, drop)
if phase ~= 'waiting' then return end
write(id, 'phase', 'ready', 'wake', whole(now))
queue(id, tonumber(drop))
announce()
`;

/** ARGV: channel, id, body. */
const CANCEL = `${COMMON}
local id = ARGV[2]
local phase, holder, lease = from(id, 'phase', 'holder', 'lease')
if not phase or phase == 'ended' then return 'nothing' end
if holder ~= '' and tonumber(lease) > now then
  write(id, 'cancelled', 1)
  return 'asked'
end
finish(id, ARGV[3])
return 'ended'
`;

/**
 * ARGV: channel, holder, leaseMs, perOwner, then kinds.
 * Reply: id, kind, head, body, attempt, cancelled, life left, count of steps, steps..., then keys and answers. Without
 * one: 0 when there was too much to sweep (ask again); else in how many ms there may be one, or -1.
 */
const CLAIM = `${COMMON}${SWEEP}
local most, perOwner = 256, tonumber(ARGV[4])
if sweep(most) then return 0 end
local lapsed = redis.call('ZRANGEBYSCORE', base .. ':held', '-inf', whole(now), 'LIMIT', 0, most)
for _, id in ipairs(lapsed) do
  local owner, drop = from(id, 'owner', 'drop')
  redis.call('ZREM', base .. ':held', id)
  if owner then
    redis.call('ZREM', base .. ':held:' .. owner, id)
    queue(id, tonumber(drop))
  end
end
if #lapsed == most then return 0 end

local running = {}
local function isFull(owner)
  if not running[owner] then
    running[owner] = redis.call('ZCOUNT', base .. ':held:' .. owner, after(now), '+inf')
  end
  return running[owner] >= perOwner
end
local best, kind, owner = now + 1
for at = 5, #ARGV do
  local owners, seen, some = base .. ':owners:' .. ARGV[at], 0
  repeat
    some = redis.call('ZRANGEBYSCORE', owners, '-inf', after(best), 'WITHSCORES', 'LIMIT', seen, 16)
    local found = false
    for place = 1, #some, 2 do
      if not isFull(some[place]) then
        best, kind, owner, found = tonumber(some[place + 1]), ARGV[at], some[place], true
        break
      end
    end
    seen = seen + 16
  until found or #some < 32
end

if not owner then
  local next = redis.call('ZRANGE', base .. ':held', 0, 0, 'WITHSCORES')[2]
  next = next and tonumber(next)
  for at = 5, #ARGV do
    local wake = redis.call('ZRANGEBYSCORE', base .. ':owners:' .. ARGV[at], after(now), '+inf', 'WITHSCORES',
      'LIMIT', 0, 1)[2]
    if wake and (not next or tonumber(wake) < next) then next = tonumber(wake) end
  end
  return next and math.max(1, next - now) or -1
end

local id = redis.call('ZRANGE', base .. ':ready:' .. kind .. ':' .. owner, 0, 0)[1]
local head, body, attempt, cancelled, ends, drop = from(id, 'head', 'body', 'attempt', 'cancelled', 'ends', 'drop')
unqueue(id, kind, owner)
-- Evicted, or deleted by hand.
if not head then return 0 end
drop = tonumber(drop)
attempt = attempt + 1
local lease = now + ARGV[3]
write(id, 'holder', ARGV[2], 'lease', whole(lease), 'attempt', attempt)
put(base .. ':held', lease, id, drop)
put(base .. ':held:' .. owner, lease, id, drop)
local steps = redis.call('HVALS', base .. ':steps:' .. id)
local reply = {id, kind, head, body, attempt, tonumber(cancelled), ends - now, #steps}
for _, step in ipairs(steps) do reply[#reply + 1] = step end
for _, part in ipairs(redis.call('HGETALL', base .. ':answers:' .. id)) do reply[#reply + 1] = part end
return reply
`;

/** ARGV: channel, id, holder, leaseMs, entry, id of this command: a client may send one again after a reconnection. */
const RECORD = `${COMMON}${HELD("0")}
local steps = base .. ':steps:' .. id
redis.call('HSETNX', steps, ARGV[6], (redis.call('HLEN', steps) + 1) .. ':' .. ARGV[5])
redis.call('PEXPIREAT', steps, whole(drop))
prolong(ARGV[4])
return 1
`;

/** ARGV: channel, id, holder, leaseMs, and the note if there is one. */
const RENEW = `${COMMON}${HELD("'lost'")}
prolong(ARGV[4])
if ARGV[5] then write(id, 'note', ARGV[5]) end
return from(id, 'cancelled') == '1' and 'cancelled' or 'held'
`;

/** ARGV: channel, id, holder, body, phase, wakeMs, then open keys. */
const SETTLE = `${COMMON}${HELD("0")}
if ARGV[5] == 'ended' then
  finish(id, ARGV[4])
  return 1
end
local open, answers = {}, base .. ':answers:' .. id
for at = 7, #ARGV do open[ARGV[at]] = true end
local urgent = from(id, 'cancelled') == '1'
for _, key in ipairs(redis.call('HKEYS', answers)) do
  if open[key] then urgent = true else redis.call('HDEL', answers, key) end
end
local phase, wake = ARGV[5], now + ARGV[6]
if urgent then phase, wake = 'ready', now end
if not free(id, owner) then unqueue(id, kind, owner) end
write(id, 'body', ARGV[4], 'phase', phase, 'wake', whole(wake), 'holder', '', 'attempt', 0)
redis.call('HDEL', base .. ':task:' .. id, 'note')
redis.call('DEL', base .. ':steps:' .. id)
if phase == 'ready' then
  queue(id, drop)
  announce()
end
return 1
`;

/** ARGV: channel, id, holder, and wakeMs if the attempt does not count. */
const RELEASE = `${COMMON}${HELD("0")}
free(id, owner)
write(id, 'holder', '')
if ARGV[4] then write(id, 'attempt', from(id, 'attempt') - 1, 'wake', whole(now + ARGV[4])) end
queue(id, drop)
announce()
return 1
`;

export const SCRIPTS = {
  create: CREATE,
  read: READ,
  answer: ANSWER,
  cancel: CANCEL,
  claim: CLAIM,
  record: RECORD,
  renew: RENEW,
  settle: SETTLE,
  release: RELEASE,
} as const;
