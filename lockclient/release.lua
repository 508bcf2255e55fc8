-- Frees a lock that is still the owner's and wakes those who wait for it.
-- KEYS[1…] lock keys: of all names that were taken together
-- ARGV[1]  owner
-- ARGV[2…] the channel that waiters subscribe to, one for each lock key
-- Returns {"ok", token}    freed
--         {"missing", key} the key is gone already
--         {"other", key}   another owner holds the lock
-- key is "" where KEYS has one lock key. Of several, those that are the owner's
-- are freed whatever has become of the others.

local status, name, token = 'ok', '', nil
for i = 1, #KEYS do
  local held = redis.call('GET', KEYS[i])
  local colon = held and string.find(held, ':', 1, true)
  if colon and string.sub(held, colon + 1) == ARGV[1] then
    token = string.sub(held, 1, colon - 1)
    local beside = string.gsub(KEYS[i], '}:lock:', '}:held:', 1)
    redis.call('DEL', KEYS[i], beside)
    redis.call('PUBLISH', ARGV[1 + i], 'free')
  elseif status == 'ok' then
    status = held and 'other' or 'missing'
    name = #KEYS > 1 and KEYS[i] or ''
  end
end
if status == 'ok' then return {'ok', token} end
return {status, name}
