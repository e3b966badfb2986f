#!lua
-- A sweep is noted before its job is submitted, if its caller has not too many that live.
-- KEYS none. ARGV 1 sweep id, 2 caller, 3 life in ms, 4 most living sweeps of a caller, 5 ms after which one
-- without a job counts as gone. Answers 1 | 0: too many.

local id, caller = ARGV[1], ARGV[2]
local living, now = K.LIVING_SWEEPS .. caller, now_ms()
for _, other in ipairs(redis.call("ZRANGEBYSCORE", living, "-inf", now - ARGV[5])) do
  if redis.call("EXISTS", K.JOB .. other) == 0 then
    redis.call("ZREM", living, other)
  end
end
if redis.call("ZCARD", living) >= tonumber(ARGV[4]) then
  return 0
end
redis.call("ZADD", living, now, id)
redis.call("PEXPIRE", living, ARGV[3])
redis.call("HSET", K.SWEEP .. id, "caller", caller)
redis.call("PEXPIRE", K.SWEEP .. id, ARGV[3])
return 1
