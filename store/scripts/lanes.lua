#!lua flags=no-writes
-- How many jobs of each lane wait for a worker, and for how long the oldest has waited.
-- KEYS none. ARGV lanes. Answers for every lane {jobs, ms}.
--
-- A caller's jobs wait in order, so the oldest of a lane is the turn of a caller or the first job of
-- its backlog (one that was given back goes there). This costs a few reads for every waiting caller.

local now = now_ms()

local function waited_ms(id)
  return now - tonumber(redis.call("HGET", K.JOB .. id, "submitted_ms") or now)
end

local function oldest_ms(at)
  local turns, oldest = redis.call("HGETALL", K.TURNS .. at), 0
  for i = 1, #turns, 2 do
    oldest = math.max(oldest, waited_ms(turns[i + 1]))
    local first = redis.call("ZRANGE", K.BACKLOG .. at .. ":" .. turns[i], 0, 0)[1]
    if first then
      oldest = math.max(oldest, waited_ms(first))
    end
  end
  return oldest
end

local answers = {}
for i, lane in ipairs(ARGV) do
  local queued = redis.call("ZCARD", K.QUEUED .. lane)
  local oldest = queued == 0 and 0 or math.max(oldest_ms("interactive:" .. lane), oldest_ms("batch:" .. lane))
  answers[i] = { queued, oldest }
end
return answers
