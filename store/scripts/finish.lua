#!lua flags=allow-oom
-- An attempt hands in its result; only the attempt whose token is still the job's may. A record for which
-- there is no room is refused: the attempt then hands in a small one, for which there always is.
-- KEYS none. ARGV 1 id, 2 token, 3 record, 4 reusable 0|1, 5 ms to keep it, 6 ms that it
-- took of the worker or GPU, "" when that is not known.
-- Answers {"accepted"} | {"stale"} | {"too_large"} | {"caller_bytes_full", the limit} | {"store_full"}.

local id, token = ARGV[1], ARGV[2]
if redis.call("HGET", K.JOB .. id, "token") ~= token then
  -- The same finish sent twice, because its first answer was lost on the way, is accepted twice.
  return { redis.call("HGET", K.RESULT .. id, "finished") == token and "accepted" or "stale" }
end
local refusal = no_room_for(id, ARGV[3], tonumber(ARGV[5]))
if refusal then
  return { refusal, redis.call("GET", K.KEPT_LIMIT) or "" }
end
take_back(id, tonumber(ARGV[6]))
conclude(id, "finished", token, ARGV[3], ARGV[4], ARGV[5])
return { "accepted" }
