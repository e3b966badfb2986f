#!lua flags=allow-oom
-- A batch does not wait for a job any more: its items end with the record of a cancelled one.
-- KEYS none. ARGV 1 job id, 2 batch, 3 record. Answers 1 | 0 when it did not wait for the job.

local id, batch = ARGV[1], ARGV[2]
local indices = redis.call("HGET", K.JOB_BATCHES .. id, batch)
if not indices then
  return 0
end
redis.call("HDEL", K.JOB_BATCHES .. id, batch)
end_items(batch, indices, "cancelled", ARGV[3])
return 1
