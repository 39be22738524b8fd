/*
 * What must happen in one step runs as one script. All keys of a read model carry the same hash tag, so a cluster keeps them on one node.
 */

/**
 * KEYS[1] checkpoints, each as "position mark generation", with an empty position before the first apply. ARGV: projection, what to take as mark
 * and generation where there are none. Answers what is stored then: also the absence of rows has a mark, so that it is told from the absence
 * after another loss.
 */
export const BEGIN = `
local stored = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if not string.find(stored, ' ', 1, true) then
  stored = stored .. ' ' .. ARGV[2] .. ' ' .. ARGV[2]
  redis.call('HSET', KEYS[1], ARGV[1], stored)
end
return stored
`;

/**
 * KEYS[1] checkpoints, KEYS[2] names of the lists, then the tables and lists that the changes name by their index.
 * ARGV: projection, the new checkpoint with its mark, how many marks follow, the marks of which one must be stored (none: any), then the changes.
 * Answers 1, or 0 when another mark is stored: then nothing was changed.
 */
export const APPLY = `
local stored = redis.call('HGET', KEYS[1], ARGV[1]) or ''
local mark, generation = string.match(stored, ' (%S+) (%S+)$')
local marks = tonumber(ARGV[3])
local at = 4 + marks
if marks > 0 then
  local isExpected = false
  for index = 4, 3 + marks do isExpected = isExpected or ARGV[index] == mark end
  if not isExpected then return 0 end
end
while at <= #ARGV do
  local op = ARGV[at]
  local key = KEYS[tonumber(ARGV[at + 1])]
  if op == 'put' then
    redis.call('HSET', key, ARGV[at + 2], ARGV[at + 3])
    at = at + 4
  elseif op == 'delete' then
    redis.call('HDEL', key, ARGV[at + 2])
    at = at + 3
  else
    local times = KEYS[tonumber(ARGV[at + 1]) + 1]
    if op == 'enlist' then
      redis.call('ZADD', key, ARGV[at + 3], ARGV[at + 2])
      redis.call('ZADD', times, ARGV[at + 4], ARGV[at + 2])
      redis.call('SADD', KEYS[2], ARGV[at + 5])
      at = at + 6
    else
      local order = redis.call('ZSCORE', key, ARGV[at + 2])
      if order and tonumber(order) == tonumber(ARGV[at + 3]) then
        redis.call('ZREM', key, ARGV[at + 2])
        redis.call('ZREM', times, ARGV[at + 2])
      end
      at = at + 4
    end
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. (generation or string.match(ARGV[2], '%S+$')))
return 1
`;

/**
 * KEYS: members by order, members by second. ARGV: from, to (scores), "offset" or "before", its value, limit.
 * Seconds never fall within a list, so a member has the same rank in both sets, and a count of seconds is a rank.
 * Answers the total in range, then members and orders by turns, newest first.
 */
export const PAGE = `
local total = redis.call('ZCOUNT', KEYS[2], ARGV[1], ARGV[2])
local newer = ARGV[2] == '+inf' and 0 or redis.call('ZCOUNT', KEYS[2], '(' .. ARGV[2], '+inf')
local first = newer
if ARGV[3] == 'offset' then
  first = newer + tonumber(ARGV[4])
elseif ARGV[4] ~= '' then
  first = math.max(newer, redis.call('ZCOUNT', KEYS[1], ARGV[4], '+inf'))
end
local last = math.min(first + tonumber(ARGV[5]), newer + total) - 1
if last < first then return { total } end
local found = redis.call('ZREVRANGE', KEYS[1], first, last, 'WITHSCORES')
table.insert(found, 1, total)
return found
`;
