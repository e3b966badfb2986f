#!lua flags=allow-oom
-- The heartbeat of an attempt: its lease begins again, unless the attempt does not count any more.
-- KEYS none. ARGV 1 id, 2 token, 3 lease in ms. Answers "ok" | "lost" | "cancelled".

local id, token = ARGV[1], ARGV[2]
if redis.call("HGET", K.JOB .. id, "token") == token then
  redis.call("ZADD", K.LEASES, now_ms() + ARGV[3], id)
  return "ok"
end
local finished, cancelled = unpack(redis.call("HMGET", K.RESULT .. id, "finished", "cancelled"))
if finished == token then
  return "ok" -- its result was accepted: it writes now to the cache what is kept for longer
end
return cancelled == token and "cancelled" or "lost"
