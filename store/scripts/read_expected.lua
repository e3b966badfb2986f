#!lua flags=allow-oom
-- Reads what a reference answered, and notes that it was used now.
-- KEYS none. ARGV 1 caller, 2 key.

local value = redis.call("HGET", K.EXPECTED .. ARGV[1] .. ":" .. ARGV[2], "value")
if value then
  local now = redis.call("TIME")
  local ms = now[1] * 1000 + math.floor(now[2] / 1000)
  redis.call("ZADD", K.EXPECTED_USED .. ARGV[1], "XX", ms, ARGV[2])
end
return value
