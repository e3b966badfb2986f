#!lua
-- Notes that records were used now, and with each of them all blobs that it names.
-- KEYS none. ARGV keys of records.

local now = redis.call("TIME")[1]
for _, key in ipairs(ARGV) do
  redis.call("ZADD", K.CACHE_USED, "XX", now, key)
  local blobs = redis.call("HGET", key, "blobs")
  for digest in string.gmatch(blobs or "", "sha256:%x+") do
    redis.call("ZADD", K.CACHE_USED, "XX", now, K.BLOB .. digest)
  end
end
