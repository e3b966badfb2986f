#!lua flags=allow-oom
-- A request begins to wait for a job, or has waited without an answer and will be back.
-- KEYS none. ARGV 1 id, 2 the interest that begins, 3 ms until it ends or 0, 4 its caller, 5 timeout of the
-- execution in ms, 6 the interest that it takes the place of, or "". Answers 1 | 0 for no such job.

local id = ARGV[1]
if redis.call("EXISTS", K.JOB .. id) == 0 then
  return 0
end
note_interest(id, ARGV[2], ARGV[5], ARGV[3] == "0" and 0 or now_ms() + ARGV[3], ARGV[4])
if ARGV[6] ~= "" then
  redis.call("HDEL", K.INTERESTS .. id, ARGV[6])
end
return 1
