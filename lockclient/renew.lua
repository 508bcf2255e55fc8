-- Extends the lease of a lock that is still the owner's.
-- KEYS[1]  lock key
-- ARGV[1]  owner
-- ARGV[2]  TTL in milliseconds, counted from now
-- Returns {"ok", token}    extended
--         {"missing", ""}  the key is gone: expired, flushed or released
--         {"other", ""}    another owner holds the lock; nothing changed

local held = redis.call('GET', KEYS[1])
if not held then return {'missing', ''} end
local colon = string.find(held, ':', 1, true)
if not colon or string.sub(held, colon + 1) ~= ARGV[1] then
  return {'other', ''}
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'ok', string.sub(held, 1, colon - 1)}
