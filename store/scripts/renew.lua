#!lua flags=allow-oom
-- The heartbeat of an attempt: its lease begins again, unless the attempt does not count any more.
-- KEYS none. ARGV 1 id, 2 token, 3 lease in ms. Answers "ok" | "lost" | "cancelled".

local id, token = ARGV[1], ARGV[2]
if redis.call("HGET", K.JOB .. id, "token") == token then
  redis.call("ZADD", K.LEASES, now_ms() + ARGV[3], id)
  return "ok"
end
if redis.call("HGET", K.RESULT .. id, "cancelled") == token then
  return "cancelled"
end
return "lost"
