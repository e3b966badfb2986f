#!lua flags=allow-oom
-- Deletes cache keys and takes them out of the books.
-- KEYS none. ARGV keys.

for _, key in ipairs(ARGV) do
  redis.call("UNLINK", key)
  if string.sub(key, 1, #K.BLOB) == K.BLOB then
    redis.call("UNLINK", K.BLOB_READERS .. string.sub(key, #K.BLOB + 1))
  end
  redis.call("ZREM", K.CACHE_USED, key)
  local size = redis.call("HGET", K.CACHE_SIZES, key)
  if size then
    redis.call("HDEL", K.CACHE_SIZES, key)
    redis.call("DECRBY", K.CACHE_BYTES, size)
  end
end
