#!lua
-- Keeps what a reference answered within its caller's budget: what was not used for longest gives way.
-- KEYS none. ARGV 1 caller, 2 key, 3 value, 4 the caller's budget in bytes, 5 most answers of a
-- caller, 6 life in seconds, 7 "1" where the cache keeps books for its byte budget.

local caller, key, value = ARGV[1], ARGV[2], ARGV[3]
local budget, most, life = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local used, sizes = K.EXPECTED_USED .. caller, K.EXPECTED_SIZES .. caller
local prefix = K.EXPECTED .. caller .. ":"

local function forget(name)
  local size = tonumber(redis.call("HGET", sizes, name) or "0")
  redis.call("ZREM", used, name)
  redis.call("HDEL", sizes, name)
  redis.call("HINCRBY", sizes, "", -size)
  redis.call("UNLINK", prefix .. name)
  redis.call("ZREM", K.CACHE_USED, prefix .. name)
  local booked = redis.call("HGET", K.CACHE_SIZES, prefix .. name)
  if booked then
    redis.call("HDEL", K.CACHE_SIZES, prefix .. name)
    redis.call("DECRBY", K.CACHE_BYTES, booked)
  end
end

if redis.call("ZSCORE", used, key) then
  forget(key)
end
while redis.call("ZCARD", used) > 0 do
  local taken = tonumber(redis.call("HGET", sizes, "") or "0")
  if taken + #value <= budget and redis.call("ZCARD", used) < most then
    break
  end
  forget(redis.call("ZRANGE", used, 0, 0)[1])
end
local now = redis.call("TIME")
redis.call("HSET", prefix .. key, "value", value)
redis.call("EXPIRE", prefix .. key, life)
redis.call("ZADD", used, now[1] * 1000 + math.floor(now[2] / 1000), key)
redis.call("HSET", sizes, key, #value)
redis.call("HINCRBY", sizes, "", #value)
redis.call("EXPIRE", used, life)
redis.call("EXPIRE", sizes, life)
if ARGV[7] == "1" then
  redis.call("HSET", K.CACHE_SIZES, prefix .. key, #value)
  redis.call("INCRBY", K.CACHE_BYTES, #value)
  redis.call("ZADD", K.CACHE_USED, now[1], prefix .. key)
end
