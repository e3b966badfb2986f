-- A batch does not wait for a job any more: its items are settled with the record of a cancelled one.
-- KEYS none. ARGV 1 job id, 2 batch, 3 record.
-- Answers 1 when no other batch of the same caller waits for the job, so that its interest ends, else 0.

local id, batch = ARGV[1], ARGV[2]
local indices = redis.call("HGET", K.JOB_BATCHES .. id, batch)
if not indices then
  return 0
end
redis.call("HDEL", K.JOB_BATCHES .. id, batch)
settle(batch, indices, "cancelled", ARGV[3])
local caller = redis.call("HGET", K.BATCH .. batch, "caller")
for _, other in ipairs(redis.call("HKEYS", K.JOB_BATCHES .. id)) do
  if redis.call("HGET", K.BATCH .. other, "caller") == caller then
    return 0
  end
end
return 1
