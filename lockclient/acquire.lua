-- Takes a lock on one or more names if all their keys are free, with one token
-- above every earlier one.
-- KEYS[1]  lock key      holds "<token>:<owner>" and always expires
-- KEYS[2]  counter key   holds the last token issued, shared by all locks
-- KEYS[3…] further lock keys, taken together with the first or not at all
-- ARGV[1]  owner         random, new for every acquisition
-- ARGV[2]  TTL           milliseconds
-- ARGV[3]  minimum token the new token is above it, "0" for none
-- ARGV[4]  "time" or "plain": whether the token is also above Redis' clock (µs)
-- Returns {"ok", token}          taken, or already taken by this same owner
--         {"ok", token, "expired"} taken; an earlier lease had run out
--         {"held", pttl}         another holds it for pttl ms; nothing changed
--         {"held", pttl, key}    the same where several names are asked for
--         {"exhausted", highest} no token is left below 2^53; nothing changed
--         {"counter", text}      the counter is not a number; nothing changed
-- All are strings: Lua's own number format loses digits above 10^14.
-- A repeated call with the same owner does not extend the lease.
--
-- Beside each lock key {ns}:lock:<name> there is {ns}:held:<name> with the
-- owner, which outlives it by a day and is deleted by release. Where it is found
-- while the lock key is free, the lease ran out.

local call = redis.call

-- One name that is free, as nearly always: the same as below, but for the loops.
if #KEYS == 2 then
  local lock, mark = KEYS[1], string.gsub(KEYS[1], '}:lock:', '}:held:', 1)
  local got = call('MGET', KEYS[2], lock, mark)
  local counter = got[1]
  if counter and not got[2] and mark ~= lock and string.find(counter, '^%d+$') then
    local highest = math.max(counter, ARGV[3])
    if ARGV[4] == 'time' then
      local t = call('TIME')
      highest = math.max(highest, t[1] * 1000000 + t[2])
    end
    if highest < 9007199254740991 then
      local token = string.format('%.0f', highest + 1)
      if call('SET', lock, token .. ':' .. ARGV[1], 'PX', ARGV[2], 'NX') then
        call('SET', KEYS[2], token)
        call('SET', mark, ARGV[1], 'PX', ARGV[2] + 86400000)
        if got[3] then return {'ok', token, 'expired'} end
        return {'ok', token}
      end
    end
  end
end

local locks = {KEYS[1]}
for i = 3, #KEYS do locks[i - 1] = KEYS[i] end
local n = #locks
local ask = {KEYS[2]}
for i = 1, n do
  ask[1 + i] = locks[i]
  ask[1 + n + i] = string.gsub(locks[i], '}:lock:', '}:held:', 1)
end
local got = call('MGET', unpack(ask))

local token, mine, busy = nil, 0, nil
for i = 1, n do
  local held = got[1 + i]
  if held then
    local colon = string.find(held, ':', 1, true)
    if colon and string.sub(held, colon + 1) == ARGV[1] then
      token, mine = string.sub(held, 1, colon - 1), mine + 1
    else
      busy = busy or i
    end
  end
end
if mine == n then return {'ok', token} end
-- Some keys of a lock of this owner have gone: it holds the rest until it
-- releases them.
for i = 1, n do
  if mine > 0 and not busy and got[1 + i] then busy = i end
end
if busy then
  local left = string.format('%.0f', call('PTTL', locks[busy]))
  if n > 1 then return {'held', left, locks[busy]} end
  return {'held', left}
end

local counter = got[1]
if not counter then
  if call('EXISTS', KEYS[2]) == 1 then
    return {'counter', 'a value of another type'}
  end
  counter = '0'
end
if not string.find(counter, '^%d+$') then
  return {'counter', string.sub(counter, 1, 40)}
end

local highest = math.max(tonumber(counter), tonumber(ARGV[3]))
if ARGV[4] == 'time' then
  local t = call('TIME')
  highest = math.max(highest, tonumber(t[1]) * 1000000 + tonumber(t[2]))
end
-- 2^53-1 is the last integer that doubles keep apart from its successor.
if highest >= 9007199254740991 then
  return {'exhausted', string.format('%.0f', highest)}
end

token = string.format('%.0f', highest + 1)
for i = 1, n do
  if not call('SET', locks[i], token .. ':' .. ARGV[1], 'PX', ARGV[2], 'NX') then
    for j = 1, i - 1 do call('DEL', locks[j]) end
    return call('GET', locks[i]) -- of another type: Redis' own error
  end
end
call('SET', KEYS[2], token)
local expired = false
local day = string.format('%.0f', tonumber(ARGV[2]) + 86400000)
for i = 1, n do
  local beside = ask[1 + n + i]
  if beside ~= locks[i] then
    expired = expired or got[1 + n + i]
    call('SET', beside, ARGV[1], 'PX', day)
  end
end
if expired then return {'ok', token, 'expired'} end
return {'ok', token}
