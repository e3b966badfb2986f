#!lua
-- An attempt at a sweep writes rows, each an event too; only the attempt whose token is still the job's may.
-- KEYS none. ARGV 1 sweep id, 2 token, then index and row (JSON) of each. Answers 1 | 0.

local id = ARGV[1]
local life_ms = redis.call("PTTL", K.SWEEP .. id)
if redis.call("HGET", K.JOB .. id, "token") ~= ARGV[2] or life_ms <= 0 then
  return 0
end
local bytes = 0
for at = 3, #ARGV, 2 do
  redis.call("HSET", K.SWEEP_ROWS .. id, ARGV[at], ARGV[at + 1])
  redis.call("HDEL", K.SWEEP_JOBS .. id, ARGV[at])
  redis.call("XADD", K.EVENTS .. id, "MAXLEN", "~", MOST_OF_SWEEP, "*", "type", "row", "data", ARGV[at + 1])
  bytes = bytes + 2 * #ARGV[at + 1]
end
keep_bytes(redis.call("HGET", K.SWEEP .. id, "caller"), bytes, life_ms)
redis.call("PEXPIRE", K.SWEEP_ROWS .. id, life_ms)
redis.call("PEXPIRE", K.EVENTS .. id, life_ms)
redis.call("PUBLISH", K.HAPPENED, id)
return 1
