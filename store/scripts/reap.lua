-- Ends what nobody else will end. A job whose lease is over is queued again, before its callers'
-- others; after too many deliveries, or past its queue deadline, it is claimed for the reaper, who
-- finishes it with an error.
-- KEYS none. ARGV 1 consumer (the reaper), 2 lease in ms for its claims, 3 most deliveries, 4 most
-- jobs at once, 5 ms after which an idle consumer with nothing pending is forgotten.
-- Answers {{reason, id, fields of CLAIM ...}, ...}, the reason being "exhausted" or "overdue".

local reaper, lease_ms = ARGV[1], tonumber(ARGV[2])
local most_deliveries, limit = tonumber(ARGV[3]), ARGV[4]
local now = now_ms()
local claims = {}

local function claim_for_reaper(reason, id)
  start(id, reaper, lease_ms, now)
  claims[#claims + 1] = claimed(reason, id)
end

for _, id in ipairs(redis.call("ZRANGEBYSCORE", K.LEASES, "-inf", now, "LIMIT", 0, limit)) do
  local job = fields(id, "lane", "priority", "entry", "stream", "token", "deadline_ms",
    "deliveries", "reason")
  redis.call("PUBLISH", K.REVOKED, "lost " .. job.token .. " " .. id)
  take_back(id, job)
  if job.reason then -- a reaper had it and died
    claim_for_reaper(job.reason, id)
  elseif tonumber(job.deliveries) >= most_deliveries then
    redis.call("HSET", K.JOB .. id, "reason", "exhausted")
    claim_for_reaper("exhausted", id)
  else
    enqueue(id, job, true)
  end
end

for _, id in ipairs(redis.call("ZRANGEBYSCORE", K.DEADLINES, "-inf", now, "LIMIT", 0, limit)) do
  dequeue(id, fields(id, "lane", "priority", "entry", "stream", "owner"))
  redis.call("HSET", K.JOB .. id, "reason", "overdue")
  claim_for_reaper("overdue", id)
end

for _, at in ipairs(redis.call("SMEMBERS", K.LANES)) do
  for _, info in ipairs(redis.call("XINFO", "CONSUMERS", K.STREAM .. at, GROUP)) do
    local consumer = {}
    for i = 1, #info, 2 do
      consumer[info[i]] = info[i + 1]
    end
    if consumer.pending == 0 and consumer.idle > tonumber(ARGV[5]) then
      redis.call("XGROUP", "DELCONSUMER", K.STREAM .. at, GROUP, consumer.name)
    end
  end
end
return claims
