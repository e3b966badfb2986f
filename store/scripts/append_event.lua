#!lua
-- An attempt appends events of its progress; only the attempt whose token is still the job's may.
-- KEYS none. ARGV 1 id, 2 token, 3 life of the events in ms, then kind and data (JSON) of each
-- event. Answers 1 | 0, also when the job has more events than any has. Data that is too large is left out.

local id = ARGV[1]
if redis.call("HGET", K.JOB .. id, "token") ~= ARGV[2] then
  return 0
end
if redis.call("HINCRBY", K.JOB .. id, "told", (#ARGV - 3) / 2) > 2000 then
  return 0
end
for at = 4, #ARGV, 2 do
  if #ARGV[at + 1] <= L.MAX_EVENT_BYTES then
    redis.call("XADD", K.EVENTS .. id, "MAXLEN", "~", 200, "*", "type", ARGV[at], "data", ARGV[at + 1])
  end
end
redis.call("PEXPIRE", K.EVENTS .. id, ARGV[3])
redis.call("PUBLISH", K.HAPPENED, id)
return 1
