#!lua
-- An attempt at a sweep notes the jobs that it is about to submit, so that who cancels finds them.
-- KEYS none. ARGV 1 sweep id, 2 token, then index and job id of each. Answers 1 | 0.

local id = ARGV[1]
local life_ms = redis.call("PTTL", K.SWEEP .. id)
if redis.call("HGET", K.JOB .. id, "token") ~= ARGV[2] or life_ms <= 0 then
  return 0
end
for at = 3, #ARGV, 2 do
  redis.call("HSET", K.SWEEP_JOBS .. id, ARGV[at], ARGV[at + 1])
end
redis.call("PEXPIRE", K.SWEEP_JOBS .. id, life_ms)
return 1
