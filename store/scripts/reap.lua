#!lua flags=allow-oom
-- Ends abandoned jobs. A job whose lease is over is queued again, before its callers'
-- others; after too many deliveries, or past its queue deadline, it is claimed for the reaper, who
-- finishes it with an error.
-- KEYS none. ARGV 1 consumer (the reaper), 2 lease in ms for its claims, 3 most deliveries, 4 most
-- jobs at once, 5 ms of a term: one process reaps for all, until it has been silent for that long.
-- Answers {{reason, id, fields of CLAIM ...}, ...}, the reason being "exhausted" or "overdue", or nil
-- when another process reaps.

local reaper, lease_ms = ARGV[1], tonumber(ARGV[2])
local most_deliveries, limit = tonumber(ARGV[3]), ARGV[4]
local now = now_ms()
local claims = {}

-- A term, or a lease, that lasts longer than any that begins now is of a clock that went back since.
local LONGEST_LEASE_MS = 600000

local elected = redis.call("GET", K.REAPER)
if elected and elected ~= reaper and redis.call("PTTL", K.REAPER) <= tonumber(ARGV[5]) then
  return nil
end
redis.call("SET", K.REAPER, reaper, "PX", ARGV[5])

local function claim_for_reaper(reason, id)
  start(id, reaper, lease_ms, now)
  claims[#claims + 1] = claimed(reason, id)
end

-- A job of which so little is left that it can neither be answered nor tried again.
local function is_broken(id, job)
  if job.lane and job.priority and BASE[job.priority] then
    return false
  end
  redis.call("ZREM", K.LEASES, id)
  redis.call("ZREM", K.DEADLINES, id)
  give_back_bytes(id)
  release_reserved(id)
  redis.call("DEL", K.JOB .. id, K.CALLERS .. id, K.INTERESTS .. id)
  return true
end

local function end_lease(id)
  local job = fields(id, "lane", "priority", "token", "deadline_ms", "deliveries", "reason")
  if is_broken(id, job) then
    return
  end
  redis.call("PUBLISH", K.REVOKED, "lost " .. job.token .. " " .. id)
  take_back(id)
  if job.reason then -- a reaper had it and died
    claim_for_reaper(job.reason, id)
  elseif tonumber(job.deliveries) >= most_deliveries then
    redis.call("HSET", K.JOB .. id, "reason", "exhausted")
    claim_for_reaper("exhausted", id)
  else
    enqueue(id, job, true)
  end
end

local function end_wait(id)
  local job = fields(id, "lane", "priority")
  if not is_broken(id, job) then
    dequeue(id, job)
    redis.call("HSET", K.JOB .. id, "reason", "overdue")
    claim_for_reaper("overdue", id)
  end
end

for _, id in ipairs(redis.call("ZRANGEBYSCORE", K.LEASES, now + LONGEST_LEASE_MS + 1, "+inf", "LIMIT", 0, limit)) do
  redis.call("ZADD", K.LEASES, now + lease_ms, id)
end
for _, id in ipairs(redis.call("ZRANGEBYSCORE", K.LEASES, "-inf", now, "LIMIT", 0, limit)) do
  end_lease(id)
end
for _, id in ipairs(redis.call("ZRANGEBYSCORE", K.DEADLINES, "-inf", now, "LIMIT", 0, limit)) do
  end_wait(id)
end
if redis.call("EXISTS", K.LEASES, K.DEADLINES) == 0 then
  redis.call("DEL", K.JOB_BYTES) -- no job is alive, whatever was lost of the accounts
end
return claims
