#!lua flags=allow-oom
-- One interest in a job ends; with the last one the job ends, queued or running.
-- KEYS none. ARGV 1 id, 2 the interest, 3 record of a cancelled job, 4 ms to keep it.
-- Answers "withdrawn" | "cancelled" | "finished" | "not_found".

local id, interest = ARGV[1], ARGV[2]
local job = fields(id, "lane", "priority", "state", "token")
if not job.state then
  return redis.call("EXISTS", K.RESULT .. id) == 1 and "finished" or "not_found"
end
local held = redis.call("HGET", K.INTERESTS .. id, interest)
if not held then
  return "withdrawn"
end
redis.call("HDEL", K.INTERESTS .. id, interest)
local caller = string.match(held, "^%d+ %d+ (.*)$")
local left, longest, is_callers = interests_left(id, caller)
if left > 0 then
  redis.call("HSET", K.JOB .. id, "timeout_ms", longest)
  -- as long as a request waits, the job has a caller whose turn it can take
  if not is_callers and redis.call("SCARD", K.CALLERS .. id) > 1 then
    redis.call("SREM", K.CALLERS .. id, caller)
    leave_backlog(id, place(job), caller)
  end
  return "withdrawn"
end
if job.state == "queued" then
  dequeue(id, job)
else
  take_back(id)
  redis.call("PUBLISH", K.REVOKED, "cancelled " .. job.token .. " " .. id)
end
conclude(id, "cancelled", job.token, ARGV[3], "0", ARGV[4])
return "cancelled"
