#!lua flags=allow-oom
-- An attempt that finished a job amends its record and appends an event; only that attempt may.
-- KEYS none. ARGV 1 id, 2 token, 3 record or "", 4 kind of the event, 5 its data (JSON).
-- Answers 1 | 0.

local id = ARGV[1]
local counts = redis.call("HGET", K.RESULT .. id, "finished") == ARGV[2]
if counts then
  if ARGV[3] ~= "" then
    redis.call("HSET", K.RESULT .. id, "record", ARGV[3])
  end
  redis.call("XADD", K.EVENTS .. id, "MAXLEN", "~", 200, "*", "type", ARGV[4], "data", ARGV[5])
end
redis.call("DEL", K.AMENDMENT .. id)
redis.call("PUBLISH", K.HAPPENED, id)
return counts and 1 or 0
