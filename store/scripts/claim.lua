-- A worker that is free takes the next job, interactive ones of all its lanes first, and one only.
-- KEYS none. ARGV 1 consumer, 2 lease in ms, 3... lanes, the preferred first.
-- Answers {{reason, id, fields of CLAIM ...}}, or when nothing is queued {nil, {stream, last id,
-- ...}}: the ids to wait behind, read in the same instant, so that no wake-up is lost.

local consumer, lease_ms = ARGV[1], tonumber(ARGV[2])

local function take(at, entry, id)
  local job = fields(id, "entry", "stream", "lane", "priority", "owner", "state")
  if job.state ~= "queued" or job.entry ~= entry or job.stream ~= at then
    -- An entry without its job: cannot be run, must not come again.
    redis.call("XACK", K.STREAM .. at, GROUP, entry)
    redis.call("XDEL", K.STREAM .. at, entry)
    return nil
  end
  local round = tonumber(redis.call("ZSCORE", K.QUEUED .. job.lane, id) or "0") - BASE[job.priority]
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
    local read = redis.call("XREADGROUP", "GROUP", GROUP, consumer, "COUNT", 1,
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

local function last_id(at)
  if redis.call("EXISTS", K.STREAM .. at) == 0 then
    return "0-0"
  end
  local info = redis.call("XINFO", "STREAM", K.STREAM .. at)
  for i = 1, #info, 2 do
    if info[i] == "last-generated-id" then
      return info[i + 1]
    end
  end
end

local seen = {}
for _, priority in ipairs({ "interactive", "batch" }) do
  for i = 3, #ARGV do
    local at = priority .. ":" .. ARGV[i]
    local claim = next_of(at)
    if claim then
      return { claim }
    end
    seen[#seen + 1] = K.STREAM .. at
    seen[#seen + 1] = last_id(at)
  end
end
return { false, seen }
