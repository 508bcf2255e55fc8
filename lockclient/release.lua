-- Frees a lock that is still the owner's and wakes those who wait for it.
-- KEYS[1]  lock key
-- ARGV[1]  owner
-- ARGV[2]  channel that waiters subscribe to
-- Returns {"ok", token}    freed
--         {"missing", ""}  the key is gone already
--         {"other", ""}    another owner holds the lock; nothing changed

local held = redis.call('GET', KEYS[1])
if not held then return {'missing', ''} end
local colon = string.find(held, ':', 1, true)
if not colon or string.sub(held, colon + 1) ~= ARGV[1] then
  return {'other', ''}
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], 'free')
return {'ok', string.sub(held, 1, colon - 1)}
