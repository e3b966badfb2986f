#!lua flags=allow-oom
-- A worker that is free takes the next job, one only: interactive ones of all its lanes first, except that
-- batch work which waits for long gets its part. Among the turns at the head of a lane, that of the caller
-- who runs least there is taken, and of several the one who used least time.
-- KEYS none. ARGV 1 consumer, 2 lease in ms, 3 ms after which batch work is aged, 4 reserved 0|1: only
-- interactive work of callers who run none, 5... lanes, the preferred first.
-- Answers {more, {reason, id, fields of CLAIM ...}}, where `more` is 1 when jobs are left, or {0}.

local consumer, lease_ms, aged_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local is_reserved, FIRST_LANE = ARGV[4] == "1", 5
local now = now_ms()
-- The number of turns to look at, so that a claim costs the same for any number of callers.
local LOOK_AHEAD = 16
-- While batch work is aged, one of so many claims is for it.
local AGED_EVERY = 4

local function drop(at, entry)
  redis.call("XACK", K.STREAM .. at, GROUP, entry)
  redis.call("XDEL", K.STREAM .. at, entry)
end

-- The caller of a dropped entry keeps its turn, so that a lost job delays no other job.
local function give_turn_back(at, id)
  local turns = redis.call("HGETALL", K.TURNS .. at)
  for i = 1, #turns, 2 do
    if turns[i + 1] == id then
      pass_turn(at, turns[i])
    end
  end
end

-- The next turn of a lane, taken out of its order; nil when there is none.
local function next_turn(at)
  while redis.call("EXISTS", K.STREAM .. at) == 1 do
    local read = redis.call("XREADGROUP", "GROUP", GROUP, CONSUMER, "COUNT", 1,
      "STREAMS", K.STREAM .. at, ">")
    if not read then
      return nil
    end
    local entry, id = read[1][2][1][1], read[1][2][1][2][2]
    local job = fields(id, "entry", "stream", "lane", "priority", "owner", "state")
    if job.state == "queued" and job.entry == entry and job.stream == at then
      return { id = id, entry = entry, job = job, running = running(at, job.owner),
        used = used_ms(job.lane, job.owner) }
    end
    drop(at, entry) -- an entry without its job: cannot be run, must not come again
    if (job.entry or "") == "" then
      give_turn_back(at, id)
    end
  end
end

local function is_before(turn, other)
  if turn.running ~= other.running then
    return turn.running < other.running
  end
  return turn.used < other.used
end

-- The turn of the caller who runs least, and of several the one who used least time; those that were
-- passed over go to the tail. No caller there used less than `floor`.
local function fairest_turn(at)
  local best, passed = next_turn(at), {}
  local lane = string.match(at, ":(.*)")
  local waiting, floor = redis.call("HLEN", K.TURNS .. at), used_ms(lane, "")
  local least = best and best.used
  while best and (best.running > 0 or best.used > floor) and #passed + 1 < math.min(waiting, LOOK_AHEAD) do
    local turn = next_turn(at)
    if not turn then
      break
    end
    least = math.min(least, turn.used)
    if is_before(turn, best) then
      best, turn = turn, best
    end
    passed[#passed + 1] = turn
  end
  if best and is_reserved and best.running > 0 then
    passed[#passed + 1], best = best, nil
  end
  if least and least > floor then
    redis.call("HSET", K.USED .. lane, "", least)
  end
  for _, turn in ipairs(passed) do
    drop(at, turn.entry)
    add_entry(turn.id, at)
  end
  return best
end

local function take(at, turn)
  local id, job = turn.id, turn.job
  local round = tonumber(redis.call("ZSCORE", K.QUEUED .. job.lane, id) or "0") - (BASE[job.priority] or 0)
  if round > tonumber(redis.call("HGET", K.ROUNDS .. at, "") or "0") then
    redis.call("HSET", K.ROUNDS .. at, "", round)
  end
  redis.call("ZREM", K.QUEUED .. job.lane, id)
  redis.call("ZREM", K.DEADLINES, id)
  pass_turn(at, job.owner)
  charge(id, at, job.owner)
  redis.call("HINCRBY", K.JOB .. id, "deliveries", 1)
  local _, attempt = start(id, consumer, lease_ms, now)
  event(id, "started", { attempt = attempt })
  return claimed("", id)
end

-- True if jobs are left that another worker, or this one, may claim; if so the next one is woken,
-- unless nothing could be claimed just now.
local function leave(waking)
  local more = 0
  for i = FIRST_LANE, #ARGV do
    if redis.call("ZCARD", K.QUEUED .. ARGV[i]) > 0 then
      if waking then
        wake(ARGV[i])
        more = 1
      end
    else
      redis.call("DEL", K.WAKE .. ARGV[i], K.WAKE_RESERVE .. ARGV[i])
    end
  end
  return more
end

local function claim_of(priority, lane)
  local at = priority .. ":" .. lane
  local turn = fairest_turn(at)
  return turn and take(at, turn)
end

-- True if it is the turn of batch work that has waited for interactive work for long.
local function is_for_aged(lane)
  local first = redis.call("ZRANGEBYSCORE", K.QUEUED .. lane, BASE.batch, "+inf", "LIMIT", 0, 1)[1]
  local submitted_ms = first and redis.call("HGET", K.JOB .. first, "submitted_ms")
  if not submitted_ms or now - tonumber(submitted_ms) < aged_ms then
    return false
  end
  if redis.call("HINCRBY", K.PASSED, lane, 1) < AGED_EVERY then
    return false
  end
  redis.call("HDEL", K.PASSED, lane)
  return true
end

local function next_claim()
  for i = FIRST_LANE, #ARGV do
    local claim = not is_reserved and is_for_aged(ARGV[i]) and claim_of("batch", ARGV[i])
    if claim then
      return claim
    end
  end
  for _, priority in ipairs(is_reserved and { "interactive" } or { "interactive", "batch" }) do
    for i = FIRST_LANE, #ARGV do
      local claim = claim_of(priority, ARGV[i])
      if claim then
        return claim
      end
    end
  end
end

local claim = next_claim()
if claim then
  return { leave(true), claim }
end
return { leave(false) }
