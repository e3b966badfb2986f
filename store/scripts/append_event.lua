-- An attempt tells how it gets on; only the attempt whose token is still the job's may.
-- KEYS none. ARGV 1 id, 2 token, 3 kind, 4 data (JSON), 5 life of the events in ms. Answers 1 | 0.

local id = ARGV[1]
if redis.call("HGET", K.JOB .. id, "token") ~= ARGV[2] then
  return 0
end
redis.call("XADD", K.EVENTS .. id, "MAXLEN", "~", 200, "*", "type", ARGV[3], "data", ARGV[4])
redis.call("PEXPIRE", K.EVENTS .. id, ARGV[5])
return 1
