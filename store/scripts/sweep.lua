#!lua flags=allow-oom
-- Evicts what was not used for the longest time until the cache is within its budget.
-- KEYS none. ARGV 1 budget in bytes, 2 most keys at once.
-- Answers {keys evicted, bytes freed, bytes left}.

local budget, left = tonumber(ARGV[1]), tonumber(redis.call("GET", K.CACHE_BYTES) or "0")
local evicted, freed = 0, 0
while left > budget and evicted < tonumber(ARGV[2]) do
  local key = redis.call("ZPOPMIN", K.CACHE_USED)[1]
  if not key then
    break
  end
  local size = tonumber(redis.call("HGET", K.CACHE_SIZES, key) or "0")
  redis.call("UNLINK", key)
  if string.sub(key, 1, #K.BLOB) == K.BLOB then
    redis.call("UNLINK", K.BLOB_READERS .. string.sub(key, #K.BLOB + 1))
  end
  redis.call("HDEL", K.CACHE_SIZES, key)
  left = redis.call("DECRBY", K.CACHE_BYTES, size)
  evicted, freed = evicted + 1, freed + size
end
return { evicted, freed, left }
