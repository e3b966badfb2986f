#!lua flags=allow-oom
-- A worker that stops gives its job back, which then does not count as delivered.
-- KEYS none. ARGV 1 id, 2 token. Answers 1 | 0 when the attempt did not count any more.

local id, token = ARGV[1], ARGV[2]
local job = fields(id, "lane", "priority", "token", "deadline_ms")
if job.token ~= token then
  return 0
end
take_back(id)
redis.call("HINCRBY", K.JOB .. id, "deliveries", -1)
enqueue(id, job, true)
return 1
