-- The second half of an acquisition on several independent nodes: tells a node
-- that granted the lock which token it was given in the end.
-- KEYS[1]  lock key
-- KEYS[2]  counter key
-- KEYS[3…] further lock keys that were taken together with the first
-- ARGV[1]  owner
-- ARGV[2]  token          the highest of a quorum of grants
-- Returns {"ok", token}    the lock holds "<token>:<owner>", the counter is not
--                          below token, and the lease is not extended
--         {"missing", key} the key is gone
--         {"other", key}   another owner holds the lock
--         {"counter", text} the counter is not a number
-- Except for "ok" nothing has changed. key is "" where there is one lock key.
--
-- The owner is what makes tokens rise: where the key is still ours, whoever is
-- granted it next starts above our token. A node that has meanwhile granted it
-- to another must not count.

local locks = {KEYS[1]}
for i = 3, #KEYS do locks[i - 1] = KEYS[i] end
local n = #locks

local left = {}
for i = 1, n do
  local held = redis.call('GET', locks[i])
  local name = n > 1 and locks[i] or ''
  if not held then return {'missing', name} end
  local colon = string.find(held, ':', 1, true)
  if not colon or string.sub(held, colon + 1) ~= ARGV[1] then
    return {'other', name}
  end
  left[i] = redis.call('PTTL', locks[i])
  if left[i] < 1 then return {'missing', name} end
end

local counter = redis.pcall('GET', KEYS[2])
if type(counter) == 'table' then
  return {'counter', 'a value of another type'}
end
if not counter then counter = '0' end
if not string.find(counter, '^%d+$') then
  return {'counter', string.sub(counter, 1, 40)}
end
if tonumber(counter) < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], ARGV[2])
end
for i = 1, n do
  redis.call('SET', locks[i], ARGV[2] .. ':' .. ARGV[1], 'PX', string.format('%.0f', left[i]))
end
return {'ok', ARGV[2]}
