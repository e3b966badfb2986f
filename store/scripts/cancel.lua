-- One caller's interest ends; with the last one the job ends, queued or running.
-- KEYS none. ARGV 1 id, 2 caller, 3 record of a cancelled job, 4 ms to keep it.
-- Answers "withdrawn" | "cancelled" | "finished" | "not_found".

local id, caller = ARGV[1], ARGV[2]
local job = fields(id, "lane", "priority", "state", "entry", "stream", "owner", "token")
if not job.state then
  return redis.call("EXISTS", K.RESULT .. id) == 1 and "finished" or "not_found"
end
if redis.call("SREM", K.CALLERS .. id, caller) == 0 then
  return "withdrawn"
end
redis.call("ZREM", K.BACKLOG .. place(job) .. ":" .. caller, id)
if redis.call("SCARD", K.CALLERS .. id) > 0 then
  return "withdrawn"
end
if job.state == "queued" then
  dequeue(id, job)
else
  take_back(id, job)
  redis.call("PUBLISH", K.REVOKED, "cancelled " .. job.token .. " " .. id)
end
conclude(id, "cancelled", job.token, ARGV[3], "0", ARGV[4])
return "cancelled"
