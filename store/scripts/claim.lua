-- A worker that is free takes the next job, interactive ones of all its lanes first, and one only.
-- KEYS none. ARGV 1 consumer, 2 lease in ms, 3... lanes, the preferred first.
-- Answers {more, {reason, id, fields of CLAIM ...}}, where `more` is 1 when jobs are left, or {0}.

local consumer, lease_ms = ARGV[1], tonumber(ARGV[2])

local function take(at, entry, id)
  local job = fields(id, "entry", "stream", "lane", "priority", "owner", "state")
  if job.state ~= "queued" or job.entry ~= entry or job.stream ~= at then
    -- An entry without its job: cannot be run, must not come again.
    redis.call("XACK", K.STREAM .. at, GROUP, entry)
    redis.call("XDEL", K.STREAM .. at, entry)
    return nil
  end
  local round = tonumber(redis.call("ZSCORE", K.QUEUED .. job.lane, id) or "0") - (BASE[job.priority] or 0)
  if round > tonumber(redis.call("HGET", K.ROUNDS .. at, "") or "0") then
    redis.call("HSET", K.ROUNDS .. at, "", round)
  end
  redis.call("ZREM", K.QUEUED .. job.lane, id)
  redis.call("ZREM", K.DEADLINES, id)
  pass_turn(at, job.owner)
  redis.call("HINCRBY", K.JOB .. id, "deliveries", 1)
  local _, attempt = start(id, consumer, lease_ms, now_ms())
  event(id, "started", { attempt = attempt })
  return claimed("", id)
end

local function next_of(at)
  while redis.call("EXISTS", K.STREAM .. at) == 1 do
    local read = redis.call("XREADGROUP", "GROUP", GROUP, CONSUMER, "COUNT", 1,
      "STREAMS", K.STREAM .. at, ">")
    if not read then
      return nil
    end
    local entry = read[1][2][1]
    local claim = take(at, entry[1], entry[2][2])
    if claim then
      return claim
    end
  end
end

-- Whether jobs are left that another worker, or this one, may claim; if so the next one is woken.
local function leave()
  local more = 0
  for i = 3, #ARGV do
    if redis.call("ZCARD", K.QUEUED .. ARGV[i]) > 0 then
      wake(ARGV[i])
      more = 1
    else
      redis.call("DEL", K.WAKE .. ARGV[i])
    end
  end
  return more
end

for _, priority in ipairs({ "interactive", "batch" }) do
  for i = 3, #ARGV do
    local claim = next_of(priority .. ":" .. ARGV[i])
    if claim then
      return { leave(), claim }
    end
  end
end
return { 0 }
