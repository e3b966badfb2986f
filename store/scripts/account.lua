#!lua
-- Writes the sizes of cache keys into the books of the byte budget, and that they were used now.
-- KEYS none. ARGV key, bytes, key, bytes, ...

local now = redis.call("TIME")[1]
for i = 1, #ARGV, 2 do
  local before = tonumber(redis.call("HGET", K.CACHE_SIZES, ARGV[i]) or "0")
  redis.call("HSET", K.CACHE_SIZES, ARGV[i], ARGV[i + 1])
  redis.call("INCRBY", K.CACHE_BYTES, ARGV[i + 1] - before)
  redis.call("ZADD", K.CACHE_USED, now, ARGV[i])
end
