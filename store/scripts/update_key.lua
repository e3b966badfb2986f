#!lua flags=allow-oom
-- The limits of an API key change, unless it was revoked meanwhile; what it owes of an old limit is dropped.
-- KEYS none. ARGV 1 its field, 2 the key as JSON, 3 its id, 4 GPU seconds an hour or "", 5 its dates as JSON.
-- Answers 1 | 0 for no such key.

if redis.call("HEXISTS", K.API_KEYS, ARGV[1]) == 0 then
  return 0
end
redis.call("HSET", K.API_KEYS, ARGV[1], ARGV[2])
redis.call("HSET", K.API_KEY_DATES, ARGV[1], ARGV[5])
if ARGV[4] == "" then
  redis.call("HDEL", K.GPU_LIMITS, ARGV[3])
else
  redis.call("HSET", K.GPU_LIMITS, ARGV[3], ARGV[4])
end
redis.call("DEL", K.REQUEST_RATE .. ARGV[3])
redis.call("PUBLISH", K.API_KEYS_CHANGED, "")
return 1
