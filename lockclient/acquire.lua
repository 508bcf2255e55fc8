-- Takes a lock if its key is free, with a token above every earlier one.
-- KEYS[1]  lock key      holds "<token>:<owner>" and always expires
-- KEYS[2]  counter key   holds the last token issued, shared by all locks
-- ARGV[1]  owner         random, new for every acquisition
-- ARGV[2]  TTL           milliseconds
-- ARGV[3]  minimum token the new token is above it, "0" for none
-- ARGV[4]  "time" or "plain": whether the token is also above Redis' clock (µs)
-- Returns {"ok", token}          taken, or already taken by this same owner
--         {"held", pttl}         another holds it for pttl ms; nothing changed
--         {"exhausted", highest} no token is left below 2^53; nothing changed
--         {"counter", text}      the counter is not a number; nothing changed
-- All are strings: Lua's own number format loses digits above 10^14.
-- A repeated call with the same owner does not extend the lease.

local held = redis.call('GET', KEYS[1])
if held then
  local colon = string.find(held, ':', 1, true)
  if colon and string.sub(held, colon + 1) == ARGV[1] then
    return {'ok', string.sub(held, 1, colon - 1)}
  end
  return {'held', string.format('%.0f', redis.call('PTTL', KEYS[1]))}
end

local counter = redis.pcall('GET', KEYS[2])
if type(counter) == 'table' then
  return {'counter', 'a value of another type'}
end
if not counter then counter = '0' end
if not string.find(counter, '^%d+$') then
  return {'counter', string.sub(counter, 1, 40)}
end

local highest = math.max(tonumber(counter), tonumber(ARGV[3]))
if ARGV[4] == 'time' then
  local t = redis.call('TIME')
  highest = math.max(highest, tonumber(t[1]) * 1000000 + tonumber(t[2]))
end
-- 2^53-1 is the last integer that doubles keep apart from its successor.
if highest >= 9007199254740991 then
  return {'exhausted', string.format('%.0f', highest)}
end

local token = string.format('%.0f', highest + 1)
redis.call('SET', KEYS[2], token)
redis.call('SET', KEYS[1], token .. ':' .. ARGV[1], 'PX', ARGV[2])
return {'ok', token}
