-- Gives a lock that is still the owner's a new owner and a token above a
-- minimum: what a holder needs whose token the fence has already passed.
-- KEYS[1]  lock key
-- KEYS[2]  counter key
-- KEYS[3…] further lock keys that were taken together with the first
-- ARGV[1]  present owner
-- ARGV[2]  new owner
-- ARGV[3]  TTL in milliseconds, counted from now
-- ARGV[4]  minimum token: the new token is above it, a decimal string
-- ARGV[5]  "time" or "plain", as for acquire
-- Returns {"ok", token}          re-minted, or already held by the new owner
--         {"missing", key}       the key is gone
--         {"other", key}         a third owner holds the lock
--         {"bounded", limit}     the token would be above limit
--         {"exhausted", highest} no token is left below 2^53
--         {"counter", text}      the counter is not a number
-- Except for "ok" nothing has changed. key is "" where there is one lock key.
-- The limit keeps one bad mark at the fence from using up all tokens:
-- max(Redis' clock + 1 day, counter + 2^40).

local locks = {KEYS[1]}
for i = 3, #KEYS do locks[i - 1] = KEYS[i] end
local n = #locks

local highest, fresh, token = tonumber(ARGV[4]), 0, nil
for i = 1, n do
  local held = redis.call('GET', locks[i])
  local name = n > 1 and locks[i] or ''
  if not held then return {'missing', name} end
  local colon = string.find(held, ':', 1, true)
  local owner = colon and string.sub(held, colon + 1)
  if owner == ARGV[2] then
    fresh = fresh + 1
  elseif owner ~= ARGV[1] then
    return {'other', name}
  end
  token = string.sub(held, 1, colon - 1)
  -- The token held now counts too: the counter may have been lost meanwhile.
  highest = math.max(highest, tonumber(token) or 0)
end
if fresh == n then return {'ok', token} end

local counter = redis.pcall('GET', KEYS[2])
if type(counter) == 'table' then
  return {'counter', 'a value of another type'}
end
if not counter then counter = '0' end
if not string.find(counter, '^%d+$') then
  return {'counter', string.sub(counter, 1, 40)}
end

local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
highest = math.max(highest, tonumber(counter))
if ARGV[5] == 'time' then highest = math.max(highest, now) end
if highest >= 9007199254740991 then
  return {'exhausted', string.format('%.0f', highest)}
end
local limit = math.max(now + 86400 * 1000000, tonumber(counter) + 1099511627776)
if highest + 1 > limit then
  return {'bounded', string.format('%.0f', limit)}
end

token = string.format('%.0f', highest + 1)
redis.call('SET', KEYS[2], token)
local day = string.format('%.0f', tonumber(ARGV[3]) + 86400000)
for i = 1, n do
  redis.call('SET', locks[i], token .. ':' .. ARGV[2], 'PX', ARGV[3])
  local beside = string.gsub(locks[i], '}:lock:', '}:held:', 1)
  if beside ~= locks[i] then redis.call('SET', beside, ARGV[2], 'PX', day) end
end
return {'ok', token}
