#!lua flags=allow-oom
-- A worker that is free takes the next job, one only: interactive ones of all its lanes first, except that
-- batch work which waits for long gets its part.
-- KEYS none. ARGV 1 consumer, 2 lease in ms, 3 ms after which batch work is aged, 4 reserved 0|1: only
-- interactive work of callers who run none, 5... lanes, the preferred first.
-- Answers {more, {reason, id, fields of CLAIM ...}}, where `more` is 1 when jobs are left, or {0}.

local consumer, lease_ms, aged_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local is_reserved, FIRST_LANE = ARGV[4] == "1", 5
local now = now_ms()
-- While batch work is aged, one of that many claims is for it.
local AGED_EVERY = 4

-- The caller whose turn it is, and the id of its next job; nil when there is none. What is left of a job that
-- the store lost delays no other.
local function next_turn(lane, at)
  while true do
    local caller = redis.call("ZRANGE", K.TURNS .. at, 0, 0)[1]
    if not caller or (is_reserved and running(at, caller) > 0) then
      return nil
    end
    local id = redis.call("ZRANGE", K.BACKLOG .. at .. ":" .. caller, 0, 0)[1] or ""
    if redis.call("HGET", K.JOB .. id, "state") == "queued" then
      return caller, id
    end
    leave_backlog(id, at, caller)
    redis.call("ZREM", K.QUEUED .. lane, id)
    redis.call("ZREM", K.WAITING .. lane, id)
  end
end

local function claim_of(priority, lane)
  local at = priority .. ":" .. lane
  local caller, id = next_turn(lane, at)
  if not caller then
    return nil
  end
  local round = tonumber(redis.call("ZSCORE", K.QUEUED .. lane, id) or "0") - BASE[priority]
  if round > tonumber(redis.call("HGET", K.ROUNDS .. at, "") or "0") then
    redis.call("HSET", K.ROUNDS .. at, "", round)
  end
  local used = used_ms(lane, caller)
  if used > used_ms(lane, "") then
    redis.call("HSET", K.USED .. lane, "", used)
  end
  dequeue(id, { lane = lane, priority = priority })
  charge(id, at, caller)
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
