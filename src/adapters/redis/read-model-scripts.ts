/*
 * What must happen in one step runs as one script. All keys of a read model carry the same hash tag, so a cluster keeps them on one node.
 */

/**
 * KEYS: checkpoints, each as "position mark generation" with an empty position before the first apply; generations of rows. ARGV: projection, what
 * to take as mark and generation where there are none, the field of its next rows ("" for those that are served), the name of rows begun now.
 * Answers what is stored then, and all generations of rows: also the absence of rows has a mark, so that it is told from the absence after another
 * loss.
 */
export const BEGIN = `
local stored = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if not string.find(stored, ' ', 1, true) then
  stored = stored .. ' ' .. ARGV[2] .. ' ' .. ARGV[2]
  redis.call('HSET', KEYS[1], ARGV[1], stored)
end
if ARGV[3] ~= '' then redis.call('HSETNX', KEYS[2], ARGV[3], ARGV[4]) end
return { stored, redis.call('HGETALL', KEYS[2]) }
`;

/**
 * KEYS[1] checkpoints, then what the changes name by its index: a table and the order of its keys, or a list's members by order, members by second and
 * names of its set.
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
  local first = tonumber(ARGV[at + 1])
  local key = KEYS[first]
  if op == 'put' then
    if redis.call('HSET', key, ARGV[at + 2], ARGV[at + 3]) == 1 then redis.call('ZADD', KEYS[first + 1], 0, ARGV[at + 2]) end
    at = at + 4
  elseif op == 'delete' then
    if redis.call('HDEL', key, ARGV[at + 2]) == 1 then redis.call('ZREM', KEYS[first + 1], ARGV[at + 2]) end
    at = at + 3
  else
    local times = KEYS[first + 1]
    if op == 'enlist' then
      redis.call('ZADD', key, ARGV[at + 3], ARGV[at + 2])
      redis.call('ZADD', times, ARGV[at + 4], ARGV[at + 2])
      redis.call('SADD', KEYS[first + 2], ARGV[at + 5])
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
 * Rows of a projection are those of the generation that its tables and sets of lists name.
 * KEYS: checkpoints, generations, what was dropped. ARGV: projection, the field of its next generation, "promote", "clear" or "drop", the mark
 * that its checkpoint gets, the generation that is empty, how many marks follow, the marks of which one must be stored beside the next generation's
 * checkpoint, then its tables and sets as "table name" and "set name". Answers 1, or 0 when another mark is stored: then nothing was changed.
 */
export const SWITCH = `
local served, field, what, mark, empty, marks = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local next = redis.call('HGET', KEYS[2], field)
if what == 'promote' then
  local position, stored, generation = string.match(redis.call('HGET', KEYS[1], field) or '', '^(%S+) (%S+) (%S+)$')
  local isExpected = false
  for index = 7, 6 + marks do isExpected = isExpected or ARGV[index] == stored end
  if not next or not isExpected then return 0 end
  redis.call('HSET', KEYS[1], served, position .. ' ' .. mark .. ' ' .. generation)
elseif what == 'clear' then
  redis.call('HDEL', KEYS[1], served)
end
for index = 7 + marks, #ARGV do
  local name = string.match(ARGV[index], ' (.*)$')
  local kind = string.match(ARGV[index], '^(%a+) ')
  if what ~= 'promote' and next then redis.call('SADD', KEYS[3], kind .. ' ' .. next .. ' ' .. name) end
  if what ~= 'drop' then
    local old = redis.call('HGET', KEYS[2], name) or ''
    redis.call('SADD', KEYS[3], kind .. ' ' .. old .. ' ' .. name)
    redis.call('HSET', KEYS[2], name, what == 'promote' and next or empty)
  end
end
redis.call('HDEL', KEYS[1], field)
redis.call('HDEL', KEYS[2], field)
return 1
`;

/**
 * KEYS: members by order, members by second, generations. ARGV: from, to (scores), "offset" or "before", its value, limit, the list's set and the
 * generation that the keys are of. Seconds never fall within a list, so a member has the same rank in both sets, and a count of seconds is a rank.
 * Answers the total in range, then members and orders by turns, newest first; -1 and the generation when it is another one now.
 */
export const PAGE = `
local generation = redis.call('HGET', KEYS[3], ARGV[6]) or ''
if generation ~= ARGV[7] then return { -1, generation } end
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
