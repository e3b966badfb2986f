-- Functions of the job scripts, put in front of each of them: the clock, the queue of a lane, the
-- end of a job. KEYS none, ARGV none.
--
-- Fair turns: a caller's queued jobs of a lane and priority wait in its backlog, in order; a job that
-- several callers want waits in the backlog of each, so a join is never worse than a submit of one's own.
-- TURNS has the callers who wait, the next one first, so a claim costs the same for any number of them.
--
-- Wake-ups: idle workers wait for a token of their lanes; the one that takes it claims. A script that
-- makes a job claimable calls `wake`; a claim that leaves jobs behind wakes the next. So each job wakes
-- one worker, and a token that is lost with a worker costs a wait of `wait_for_work`.

-- Where the scores in QUEUED begin: all interactive jobs come before all batch jobs.
local BASE = { interactive = 0, batch = 2 ^ 52 }

local function now_ms()
  local time = redis.call("TIME")
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function fields(id, ...)
  local names, values = { ... }, redis.call("HMGET", K.JOB .. id, ...)
  local job = {}
  for i, name in ipairs(names) do
    job[name] = values[i]
  end
  return job
end

local function place(job)
  return job.priority .. ":" .. job.lane
end

-- Every row of a sweep is an event of it, once; other jobs have a few.
local MOST_OF_SWEEP = 20000

local function event(id, kind, data, most)
  local json = cjson.encode(data)
  most = most or (redis.call("EXISTS", K.SWEEP .. id) == 1 and MOST_OF_SWEEP or 200)
  redis.call("XADD", K.EVENTS .. id, "MAXLEN", "~", most, "*", "type", kind, "data", json)
  redis.call("PUBLISH", K.HAPPENED, id)
end

local function wake(lane)
  if redis.call("EXISTS", K.WAKE .. lane) == 0 then
    redis.call("RPUSH", K.WAKE .. lane, "1")
  end
end

-- Interests keep a job alive: the standing one of a caller who asked for it, that of a batch, and one of
-- every request that waits for it now. Each is kept as "<timeout in ms> <end in ms, or 0> <caller>"; a
-- request that its service forgot does not count after its end. The longest timeout counts.
local function note_interest(id, interest, timeout_ms, until_ms, caller)
  redis.call("HSET", K.INTERESTS .. id, interest, timeout_ms .. " " .. until_ms .. " " .. caller)
  local longest = tonumber(redis.call("HGET", K.JOB .. id, "timeout_ms") or "0")
  if tonumber(timeout_ms) > longest then
    redis.call("HSET", K.JOB .. id, "timeout_ms", timeout_ms)
  end
end

-- The number of interests left, their longest timeout, and whether one is of `caller`.
local function interests_left(id, caller)
  local left, longest, is_callers, now = 0, 0, false, now_ms()
  for _, value in ipairs(redis.call("HVALS", K.INTERESTS .. id)) do
    local timeout_ms, until_ms, owner = string.match(value, "^(%d+) (%d+) (.*)$")
    if until_ms == "0" or tonumber(until_ms) > now then
      left, longest = left + 1, math.max(longest, tonumber(timeout_ms))
      is_callers = is_callers or owner == caller
    end
  end
  return left, longest, is_callers
end

-- A worker whose slots are all taken keeps one more for interactive work of callers who have none running.
local function wake_reserve(at)
  local lane = string.match(at, "^interactive:(.*)")
  if lane and redis.call("EXISTS", K.WAKE_RESERVE .. lane) == 0 then
    redis.call("RPUSH", K.WAKE_RESERVE .. lane, "1")
  end
end

-- How many jobs of a caller run in a lane, by priority.
local function running(at, caller)
  return tonumber(redis.call("HGET", K.RUNNING .. at, caller) or "0")
end

-- The time that a caller used in a lane; of "", where those begin who were away.
local function used_ms(lane, caller)
  return tonumber(redis.call("HGET", K.USED .. lane, caller) or "0")
end

-- Who runs least goes next, and of several the one who used the least time: a running job counts for
-- more than any time.
local RUNNING_WEIGHT = 2 ^ 44

local function note_turn(at, caller, condition)
  local score = running(at, caller) * RUNNING_WEIGHT + used_ms(string.match(at, ":(.*)"), caller)
  redis.call("ZADD", K.TURNS .. at, condition, string.format("%.0f", score), caller)
end

-- A count that was never taken back, because its job was lost with the store, is forgotten in time.
local function charge(id, at, caller)
  redis.call("HINCRBY", K.RUNNING .. at, caller, 1)
  redis.call("PEXPIRE", K.RUNNING .. at, 3600000)
  redis.call("HSET", K.JOB .. id, "charged_at", at, "owner", caller)
  note_turn(at, caller, "XX")
end

-- Every job costs something, so that jobs that cost nothing do not go before all others for ever.
local function spend(lane, caller, ms)
  redis.call("HINCRBY", K.USED .. lane, caller, math.max(1, math.floor(ms)))
  redis.call("PEXPIRE", K.USED .. lane, 3600000)
  for priority in pairs(BASE) do
    note_turn(priority .. ":" .. lane, caller, "XX")
  end
end

-- Who comes back has no credit for the time away: it begins where the last one was whose turn came.
local function come_back(lane, caller)
  local least = used_ms(lane, "")
  if used_ms(lane, caller) < least then
    redis.call("HSET", K.USED .. lane, caller, least)
  end
end

-- `ms` is the time of a worker's children or of a GPU that the attempt took; nil: all of its time.
local function discharge(id, ms)
  local at, caller, started_ms = unpack(redis.call("HMGET", K.JOB .. id, "charged_at", "owner", "started_ms"))
  if at and at ~= "" then
    if redis.call("HINCRBY", K.RUNNING .. at, caller, -1) <= 0 then
      redis.call("HDEL", K.RUNNING .. at, caller)
    end
    redis.call("HSET", K.JOB .. id, "charged_at", "")
    spend(string.match(at, ":(.*)"), caller, ms or now_ms() - (tonumber(started_ms) or now_ms()))
  end
end

-- `caller` waits for a queued job. A round is one turn of each caller; the job's round is its place in
-- the expected order (start-time fair queueing). With `first`, the job goes before the caller's others.
local function want(id, job, caller, first)
  local at = place(job)
  local round = tonumber(redis.call("HGET", K.ROUNDS .. at, "") or "0")
  local before = first and round - 1 or 0
  if not first then
    round = math.max(round, tonumber(redis.call("HGET", K.ROUNDS .. at, caller) or "0")) + 1
    redis.call("HSET", K.ROUNDS .. at, caller, round)
    before = round
  end
  redis.call("ZADD", K.QUEUED .. job.lane, "LT", BASE[job.priority] + round, id)
  if redis.call("ZADD", K.BACKLOG .. at .. ":" .. caller, "LT", before, id) == 1
    and not redis.call("ZSCORE", K.TURNS .. at, caller) then
    if running(at, caller) == 0 then
      come_back(job.lane, caller)
    end
    note_turn(at, caller, "NX")
  end
end

-- `caller` does not wait for the job any more.
local function leave_backlog(id, at, caller)
  redis.call("ZREM", K.BACKLOG .. at .. ":" .. caller, id)
  if redis.call("EXISTS", K.BACKLOG .. at .. ":" .. caller) == 0 then
    redis.call("ZREM", K.TURNS .. at, caller)
    redis.call("HDEL", K.ROUNDS .. at, caller)
  end
end

-- All callers of a queued job wait for it.
local function enqueue(id, job, first)
  local submitted_ms = redis.call("HGET", K.JOB .. id, "submitted_ms")
  redis.call("HDEL", K.JOB .. id, "reason")
  redis.call("ZADD", K.DEADLINES, job.deadline_ms, id)
  redis.call("ZADD", K.WAITING .. job.lane, submitted_ms or now_ms(), id)
  for _, caller in ipairs(redis.call("SMEMBERS", K.CALLERS .. id)) do
    want(id, job, caller, first)
  end
  wake(job.lane)
  wake_reserve(place(job))
end

-- Takes a queued job out of its lane.
local function dequeue(id, job)
  redis.call("ZREM", K.QUEUED .. job.lane, id)
  redis.call("ZREM", K.WAITING .. job.lane, id)
  redis.call("ZREM", K.DEADLINES, id)
  for _, caller in ipairs(redis.call("SMEMBERS", K.CALLERS .. id)) do
    leave_backlog(id, place(job), caller)
  end
end

-- Takes a running job from its worker: its lease ends.
local function take_back(id, ms)
  redis.call("ZREM", K.LEASES, id)
  discharge(id, ms)
  redis.call("HSET", K.JOB .. id, "state", "queued", "token", "")
end

-- Starts an attempt of the worker or reaper `consumer`.
local function start(id, consumer, lease_ms, now)
  local token = redis.call("INCR", K.TOKEN)
  local attempt = redis.call("HINCRBY", K.JOB .. id, "attempt", 1)
  redis.call("HSET", K.JOB .. id, "state", "running", "token", token, "consumer", consumer,
    "started_ms", now)
  redis.call("ZADD", K.LEASES, now + lease_ms, id)
  return token, attempt
end

-- Stored bytes of each caller, by the ten minutes in which they expire, so that no caller fills the
-- store. Bytes that expire within SHORT_MS are not counted.
local KEPT_UNIT_MS = 600000
local SHORT_MS = 60000

local function keep_bytes(caller, bytes, life_ms)
  local at = math.ceil((now_ms() + life_ms) / KEPT_UNIT_MS)
  if caller and bytes > 0 then
    redis.call("HINCRBY", K.KEPT .. caller, at, bytes)
    redis.call("PEXPIRE", K.KEPT .. caller, 25 * 3600 * 1000)
  end
  return at
end

local function kept_bytes(caller)
  local all, now, bytes = redis.call("HGETALL", K.KEPT .. caller), now_ms() / KEPT_UNIT_MS, 0
  for i = 1, #all, 2 do
    if tonumber(all[i]) > now then
      bytes = bytes + tonumber(all[i + 1])
    else
      redis.call("HDEL", K.KEPT .. caller, all[i])
    end
  end
  return bytes
end

-- The limit is the services' setting; a worker does not have it.
local function has_room(caller, bytes)
  local limit = tonumber(redis.call("GET", K.KEPT_LIMIT) or "")
  return limit == nil or kept_bytes(caller) + bytes <= limit
end

-- A job reserves bytes of its caller, so that a failure at least can be kept. The reservation counts as
-- kept bytes that expire after the job's time, so that none outlives a job that the store lost for long.
local RESERVED_MS = 3600000

local function reserved_bytes(payload, keeps)
  return L.MAX_FAILURE_RECORD_BYTES + (keeps == "1" and #payload or 0)
end

local function reserve(id, caller, bytes, deadline_in_ms)
  local at = keep_bytes(caller, bytes, deadline_in_ms + RESERVED_MS)
  redis.call("HSET", K.JOB .. id, "reserved_by", caller, "reserved_at", at, "reserved", bytes)
end

-- Answers the caller whose bytes were reserved, nil where none were.
local function release_reserved(id)
  local caller, at, bytes = unpack(redis.call("HMGET", K.JOB .. id, "reserved_by", "reserved_at", "reserved"))
  if not caller or not at or not bytes then
    return nil
  end
  if tonumber(at) > now_ms() / KEPT_UNIT_MS
    and redis.call("HINCRBY", K.KEPT .. caller, at, -bytes) <= 0 then
    redis.call("HDEL", K.KEPT .. caller, at)
  end
  redis.call("HDEL", K.JOB .. id, "reserved_by", "reserved_at", "reserved")
  return caller
end

-- True if a server with a memory limit would exceed it with this number of bytes more.
local function is_full(bytes)
  local info = redis.call("INFO", "memory")
  local most = tonumber(string.match(info, "maxmemory:(%d+)") or "0")
  return most > 0 and tonumber(string.match(info, "used_memory:(%d+)")) + bytes > most
end

-- Why a record cannot be kept, nil if it can. Small ones always can: each job reserved as much.
local function no_room_for(id, record, keep_ms)
  if #record <= L.MAX_FAILURE_RECORD_BYTES then
    return nil
  end
  if #record > L.MAX_RECORD_BYTES then
    return "too_large"
  end
  if is_full(#record) then
    return "store_full"
  end
  if keep_ms <= SHORT_MS then
    return nil
  end
  local payload, keeps, reserver, reserved =
    unpack(redis.call("HMGET", K.JOB .. id, "payload", "keeps", "reserved_by", "reserved"))
  local bytes = #record + (keeps == "1" and #payload or 0)
  for _, caller in ipairs(redis.call("SMEMBERS", K.CALLERS .. id)) do
    if has_room(caller, bytes - (caller == reserver and tonumber(reserved) or 0)) then
      return nil
    end
  end
  return "caller_bytes_full"
end

-- Counts a result for the callers who have room for it: a caller who joined never passes its limit. A small
-- one for which none has room counts for the caller whose bytes were reserved.
local function keep_result(id, bytes, keep_ms)
  local callers, reserver, is_counted = redis.call("SMEMBERS", K.CALLERS .. id), release_reserved(id), false
  if keep_ms <= SHORT_MS then
    return
  end
  for _, caller in ipairs(callers) do
    if has_room(caller, bytes) then
      keep_bytes(caller, bytes, keep_ms)
      is_counted = true
    end
  end
  if not is_counted then
    keep_bytes(reserver or callers[1], bytes, keep_ms)
  end
end

local CLAIM = { "lane", "priority", "payload", "token", "attempt", "deliveries", "refresh",
  "deadline_ms", "submitted_ms", "started_ms", "timeout_ms", "owner", "request_id",
  "traceparent" }

-- The answer of a claim: the reason ("" for ordinary work), the job id, then the fields of CLAIM.
local function claimed(reason, id)
  local answer = redis.call("HMGET", K.JOB .. id, unpack(CLAIM))
  table.insert(answer, 1, id)
  table.insert(answer, 1, reason)
  return answer
end

-- The newest jobs of a caller, by collection. One that is asked for again stays where it is in the list,
-- unless it `is_new`: then it is made again.
local function list(collection, caller, id, life_ms, most, is_new)
  local name, now = K.LISTED .. collection .. ":" .. caller, now_ms()
  if redis.call("ZADD", name, is_new and "GT" or "NX", now, id) == 1 then
    redis.call("ZREMRANGEBYRANK", name, 0, -1 - most)
    redis.call("ZREMRANGEBYSCORE", name, "-inf", now - life_ms)
  end
  redis.call("PEXPIRE", name, life_ms)
end

-- Items of a batch are over; with the last one the batch is, and has a result as a job has. The record
-- of a success is not kept a second time: it is large, and read where it is. Any other is kept once, if
-- there is room: further items of the job have "=" and the index of the one that has it.
local function end_items(batch, indices, state, record)
  local life_ms = redis.call("PTTL", K.BATCH .. batch)
  if life_ms <= 0 then
    return
  end
  local own = (state == "succeeded" or state == "completed") and "" or record
  local caller = redis.call("HGET", K.BATCH .. batch, "caller")
  local is_large = #own > L.MAX_FAILURE_RECORD_BYTES
  local kept = tonumber(redis.call("HGET", K.BATCH .. batch, "kept_bytes") or "0")
  if kept + #own > L.MAX_BATCH_RECORDS_BYTES or not has_room(caller or "", #own)
    or (is_large and is_full(#own)) then
    own = ""
  end
  keep_bytes(caller, #own, life_ms)
  redis.call("HINCRBY", K.BATCH .. batch, "kept_bytes", #own)
  for index in string.gmatch(indices, "%d+") do
    if redis.call("HSETNX", K.BATCH_ITEMS .. batch, index, state .. " " .. own) == 1 then
      own = own == "" and "" or (string.sub(own, 1, 1) == "=" and own or "=" .. index)
      event(batch, "item", { index = tonumber(index), state = state }, 4000)
      redis.call("HINCRBY", K.BATCH .. batch, "ended:" .. state, 1)
      if redis.call("HINCRBY", K.BATCH .. batch, "left", -1) == 0 then
        event(batch, "finished", { state = "completed" }, 4000)
        redis.call("HSET", K.RESULT .. batch, "record", "{}", "reusable", "0")
        redis.call("PEXPIRE", K.RESULT .. batch, life_ms)
        redis.call("PUBLISH", K.FINISHED, batch)
      end
    end
  end
  redis.call("PEXPIRE", K.BATCH_ITEMS .. batch, life_ms)
  redis.call("PEXPIRE", K.EVENTS .. batch, life_ms)
end

-- Ends a job's items in batches. In every record `state` comes before all that a user wrote.
local function tell_batches(id, record)
  local batches = redis.call("HGETALL", K.JOB_BATCHES .. id)
  if #batches == 0 then
    return
  end
  local state = string.match(record, '"state":"(%a+)"') or "failed"
  for i = 1, #batches, 2 do
    end_items(batches[i], batches[i + 1], state, record)
  end
  redis.call("DEL", K.JOB_BATCHES .. id)
end

-- The payload of a job is not counted any more.
local function give_back_bytes(id)
  local bytes = tonumber(redis.call("HGET", K.JOB .. id, "bytes") or "0")
  if bytes > 0 and redis.call("DECRBY", K.JOB_BYTES, bytes) <= 0 then
    redis.call("DEL", K.JOB_BYTES)
  end
end

-- The job is over. `ending` is the field of the result that keeps the attempt's token: "finished"
-- makes a repeated finish harmless, "cancelled" lets a late heartbeat report why.
local function conclude(id, ending, token, record, reusable, keep_ms)
  local payload, keeps = unpack(redis.call("HMGET", K.JOB .. id, "payload", "keeps"))
  payload = keeps == "1" and payload or ""
  keep_result(id, #record + #payload, tonumber(keep_ms))
  give_back_bytes(id)
  redis.call("DEL", K.JOB .. id, K.CALLERS .. id, K.INTERESTS .. id)
  redis.call("HSET", K.RESULT .. id, "record", record, "reusable", reusable, ending, token)
  if payload ~= "" then
    redis.call("HSET", K.RESULT .. id, "payload", payload)
  end
  redis.call("PEXPIRE", K.RESULT .. id, keep_ms)
  event(id, "finished", { ending = ending })
  redis.call("PEXPIRE", K.EVENTS .. id, keep_ms)
  local sweeper = redis.call("HGET", K.SWEEP .. id, "caller")
  if sweeper then
    redis.call("ZREM", K.LIVING_SWEEPS .. sweeper, id)
  end
  tell_batches(id, record)
  redis.call("PUBLISH", K.FINISHED, id)
end

