-- Extends the lease of a lock that is still the owner's.
-- KEYS[1…] lock keys: of all names that were taken together
-- ARGV[1]  owner
-- ARGV[2]  TTL in milliseconds, counted from now
-- Returns {"ok", token}    extended
--         {"missing", key} the key is gone: expired, flushed or released
--         {"other", key}   another owner holds the lock
-- Except for "ok" nothing has changed. key is "" where KEYS has one lock key.

local token
for i = 1, #KEYS do
  local held = redis.call('GET', KEYS[i])
  local name = #KEYS > 1 and KEYS[i] or ''
  if not held then return {'missing', name} end
  local colon = string.find(held, ':', 1, true)
  if not colon or string.sub(held, colon + 1) ~= ARGV[1] then
    return {'other', name}
  end
  token = string.sub(held, 1, colon - 1)
end
local day = string.format('%.0f', tonumber(ARGV[2]) + 86400000)
for i = 1, #KEYS do
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
  local beside = string.gsub(KEYS[i], '}:lock:', '}:held:', 1)
  if beside ~= KEYS[i] then redis.call('PEXPIRE', beside, day) end
end
return {'ok', token}
