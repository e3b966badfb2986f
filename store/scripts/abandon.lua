#!lua flags=allow-oom
-- An attempt cannot be brought to an end here: its lease is over at once, and the delivery counts.
-- KEYS none. ARGV 1 id, 2 token. Answers 1 | 0 when the attempt did not count any more.

local id, token = ARGV[1], ARGV[2]
if redis.call("HGET", K.JOB .. id, "token") ~= token then
  return 0
end
redis.call("ZADD", K.LEASES, "XX", 0, id)
return 1
