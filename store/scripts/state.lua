#!lua flags=no-writes
-- The state and the position of a living job.
-- KEYS none. ARGV 1 id. Answers nil, or {state, priority, attempt, submitted ms, started ms,
-- position}: the position counts from 1 and is 0 for a running job.

local id = ARGV[1]
local job = fields(id, "state", "priority", "attempt", "submitted_ms", "started_ms", "lane")
if not job.state then
  return nil
end
local rank = redis.call("ZRANK", K.QUEUED .. job.lane, id)
local position = rank and rank + 1 or 0
return { job.state, job.priority, job.attempt, job.submitted_ms, job.started_ms, position }
