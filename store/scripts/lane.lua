-- Functions of the job scripts, put in front of each of them: the clock, the queue of a lane, the
-- end of a job. KEYS none, ARGV none.
--
-- Fair turns: a lane has one stream per priority, and a caller has at most one waiting entry in it
-- (its turn). Its other jobs wait in its backlog. When its entry is claimed or withdrawn, the next
-- job of its backlog goes to the tail of the stream. A queued job without an entry is in the
-- backlog of *every* caller who wants it, so a join is never worse than a submit of one's own.
--
-- Wake-ups: idle workers wait for a token of their lanes; the one that takes it claims. A script that
-- makes a job claimable calls `wake`; a claim that leaves jobs behind wakes the next. So each job wakes
-- one worker, and a token that is lost with a worker costs a wait of `wait_for_work`.

local GROUP = "workers"
-- One for all: who has a job is known by its lease, and a group with one consumer is cheap to ask.
local CONSUMER = "worker"
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

local function ensure_stream(at)
  if redis.call("EXISTS", K.STREAM .. at) == 0 then
    redis.call("XGROUP", "CREATE", K.STREAM .. at, GROUP, "0", "MKSTREAM")
  end
end

local function wake(lane)
  if redis.call("EXISTS", K.WAKE .. lane) == 0 then
    redis.call("RPUSH", K.WAKE .. lane, "1")
  end
end

-- Interests keep a job alive: the standing one of a caller who asked for it, that of a batch, and one of
-- every request that waits for it now. Each is kept as "<timeout in ms> <end in ms, or 0> <caller>"; a
-- request that its service forgot is none any more after its end. The longest timeout counts.
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

-- Shares: how many jobs of a caller run in a lane is known by priority, so that who runs least goes first.
-- A count that was never taken back, because its job was lost with the store, is forgotten in time.
local function charge(id, at, caller)
  redis.call("HINCRBY", K.RUNNING .. at, caller, 1)
  redis.call("PEXPIRE", K.RUNNING .. at, 3600000)
  redis.call("HSET", K.JOB .. id, "charged_at", at)
end

-- The time that a caller used in a lane. Among callers who run equally many jobs, the one who used least
-- goes first. Who comes back has no credit for the time away: it begins with the least that anybody there
-- has used ("").
local function used_ms(lane, caller)
  return tonumber(redis.call("HGET", K.USED .. lane, caller) or "0")
end

local function spend(lane, caller, ms)
  redis.call("HINCRBY", K.USED .. lane, caller, math.max(0, math.floor(ms)))
  redis.call("PEXPIRE", K.USED .. lane, 3600000)
end

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
    spend(string.match(at, ":(.*)"), caller, ms or now_ms() - (tonumber(started_ms) or now_ms()))
    if redis.call("HINCRBY", K.RUNNING .. at, caller, -1) <= 0 then
      redis.call("HDEL", K.RUNNING .. at, caller)
    end
    redis.call("HSET", K.JOB .. id, "charged_at", "")
  end
end

local function running(at, caller)
  return tonumber(redis.call("HGET", K.RUNNING .. at, caller) or "0")
end

local function add_entry(id, at)
  local entry = redis.call("XADD", K.STREAM .. at, "*", "id", id)
  redis.call("HSET", K.JOB .. id, "entry", entry)
end

-- Puts a queued job at the tail of the stream, as the turn of `caller`.
local function give_turn(id, at, caller)
  ensure_stream(at)
  add_entry(id, at)
  redis.call("HSET", K.TURNS .. at, caller, id)
  redis.call("HSET", K.JOB .. id, "stream", at, "owner", caller)
  wake(string.match(at, ":(.*)"))
  wake_reserve(at)
  for _, other in ipairs(redis.call("SMEMBERS", K.CALLERS .. id)) do
    redis.call("ZREM", K.BACKLOG .. at .. ":" .. other, id)
  end
end

-- The turn of `caller` is over: the next job of its backlog gets one.
local function pass_turn(at, caller)
  redis.call("HDEL", K.TURNS .. at, caller)
  local next_id = redis.call("ZPOPMIN", K.BACKLOG .. at .. ":" .. caller)[1]
  if next_id then
    give_turn(next_id, at, caller)
  else
    redis.call("HDEL", K.ROUNDS .. at, caller)
  end
end

-- `caller` waits for a queued job that has no entry. Returns whether the job got one. A round is one
-- turn of each caller; the job's round is its place in the expected order (start-time fair
-- queueing). With `first`, the job goes before the caller's others.
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
  if redis.call("HEXISTS", K.TURNS .. at, caller) == 0 then
    if running(at, caller) == 0 then
      come_back(job.lane, caller)
    end
    give_turn(id, at, caller)
    return true
  end
  redis.call("ZADD", K.BACKLOG .. at .. ":" .. caller, "LT", before, id)
  return false
end

-- All callers of a queued job without an entry wait for it.
local function enqueue(id, job, first)
  redis.call("HDEL", K.JOB .. id, "reason")
  redis.call("ZADD", K.DEADLINES, job.deadline_ms, id)
  for _, caller in ipairs(redis.call("SMEMBERS", K.CALLERS .. id)) do
    if want(id, job, caller, first) then
      return
    end
  end
end

-- Takes a queued job out of its lane, wherever in it the job is.
local function dequeue(id, job)
  local at = place(job)
  redis.call("ZREM", K.QUEUED .. job.lane, id)
  redis.call("ZREM", K.DEADLINES, id)
  for _, caller in ipairs(redis.call("SMEMBERS", K.CALLERS .. id)) do
    redis.call("ZREM", K.BACKLOG .. at .. ":" .. caller, id)
  end
  if job.entry ~= "" then
    redis.call("XDEL", K.STREAM .. job.stream, job.entry)
    redis.call("HSET", K.JOB .. id, "entry", "")
    pass_turn(at, job.owner)
  end
end

-- Takes a running job from its worker: its entry is acknowledged and its lease ends.
local function take_back(id, job, ms)
  redis.call("ZREM", K.LEASES, id)
  discharge(id, ms)
  if job.entry ~= "" then
    redis.call("XACK", K.STREAM .. job.stream, GROUP, job.entry)
    redis.call("XDEL", K.STREAM .. job.stream, job.entry)
  end
  redis.call("HSET", K.JOB .. id, "state", "queued", "entry", "", "token", "")
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
  if caller and bytes > 0 then
    local at = math.ceil((now_ms() + life_ms) / KEPT_UNIT_MS)
    redis.call("HINCRBY", K.KEPT .. caller, at, bytes)
    redis.call("PEXPIRE", K.KEPT .. caller, 25 * 3600 * 1000)
  end
end

local function kept_bytes(caller)
  local all, now, bytes = redis.call("HGETALL", K.KEPT .. caller), now_ms() / KEPT_UNIT_MS, 0
  for i = 1, #all, 2 do
    if tonumber(all[i]) > now then
      bytes = bytes + tonumber(all[i + 1])
    end
  end
  return bytes
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
-- of a success is not kept a second time: it is large, and read where it is. Any other is kept once:
-- further items of the job say "=" and the index of the one that has it.
local function end_items(batch, indices, state, record)
  local life_ms = redis.call("PTTL", K.BATCH .. batch)
  if life_ms <= 0 then
    return
  end
  local own = (state == "succeeded" or state == "completed") and "" or record
  keep_bytes(redis.call("HGET", K.BATCH .. batch, "caller"), #own, life_ms)
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

-- Tells the batches that wait for a job. In every record `state` stands before all that a user wrote.
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
-- makes a repeated finish harmless, "cancelled" lets a late heartbeat tell its worker why.
local function conclude(id, ending, token, record, reusable, keep_ms)
  local payload, keeps = unpack(redis.call("HMGET", K.JOB .. id, "payload", "keeps"))
  payload = keeps == "1" and payload or ""
  if tonumber(keep_ms) > SHORT_MS then
    for _, caller in ipairs(redis.call("SMEMBERS", K.CALLERS .. id)) do
      keep_bytes(caller, #record + #payload, tonumber(keep_ms))
    end
  end
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

