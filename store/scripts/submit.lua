#!lua
-- A caller wants a job done: a recent result is answered, a living job joined, else a job created.
-- KEYS none. ARGV 1 id, 2 lane, 3 priority, 4 payload, 5 caller, 6 deadline in ms from now,
-- 7 refresh 0|1, 8 most queued jobs of the lane, 9 most of one caller, 10 life of the events in ms,
-- 11 the batch that it is for or "", 12 the indices of its items there, with blanks between,
-- 13 the standing interest or "", 14 timeout of the execution in ms, 15 the interest of the request that waits
-- or "", 16 for how many ms it may wait, 17 most bytes of all jobs, 18 most bytes that are kept of the
-- caller's, 19 whether the payload is kept with the result 0|1, 20 the id of the request that it is for,
-- 21 whether it runs on a GPU 0|1, 22 the span of that request (W3C traceparent) or "", 23 the collection in
-- which it is listed for the caller or "", 24 for how many ms, 25 most jobs of such a list, 26 the name that
-- equal jobs of other ids share while one of them is alive, or "".
-- Answers {"hit", record} | {"join", "1" if the attempt that runs is not the refresh asked for, the id of the
-- joined job} | {"miss"}
-- | {"queue_full"} | {"caller_queue_full"} | {"bytes_full"} | {"caller_bytes_full"}
-- | {"gpu_time_spent", GPU seconds an hour, seconds until there are some}.

local id, lane, priority, payload, caller = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local refresh = ARGV[7]
local deadline_ms = now_ms() + ARGV[6]

local function list_for_caller(is_new)
  if ARGV[23] ~= "" then
    list(ARGV[23], caller, id, ARGV[24], ARGV[25], is_new)
  end
end

local function note_interests()
  if ARGV[13] ~= "" then
    note_interest(id, ARGV[13], ARGV[14], 0, caller)
  end
  if ARGV[15] ~= "" then
    note_interest(id, ARGV[15], ARGV[14], now_ms() + ARGV[16], caller)
  end
  if ARGV[11] ~= "" then
    redis.call("HSET", K.JOB_BATCHES .. id, ARGV[11], ARGV[12])
  end
end

local function queued_jobs_of_caller(name)
  return redis.call("ZCARD", K.BACKLOG .. name .. ":" .. lane .. ":" .. caller)
end

-- Why there is no room for one more job, nil if there is. A twentieth of the queue is every caller's own,
-- whatever others have queued, and again for interactive work, whatever it has queued of batch work.
local function no_room()
  local most, most_of_caller = tonumber(ARGV[8]), tonumber(ARGV[9])
  local queued = redis.call("ZCARD", K.QUEUED .. lane)
  local interactive, batch = queued_jobs_of_caller("interactive"), queued_jobs_of_caller("batch")
  local own = priority == "interactive" and interactive or interactive + batch
  local share = math.max(1, math.floor(most / 20))
  if own < math.min(share, most_of_caller) and queued < 2 * most then
    return nil
  end
  if queued >= most then
    return "queue_full"
  end
  return interactive + batch >= most_of_caller and "caller_queue_full" or nil
end

-- The limit of a caller who used all its GPU time of the last hour, and when some of it is an hour ago.
local function gpu_time_spent()
  local limit = ARGV[21] == "1" and redis.call("HGET", K.GPU_LIMITS, caller)
  if not limit then
    return nil
  end
  local all, minute, used, seconds = redis.call("HGETALL", K.GPU_MINUTES .. caller), now_ms() / 60000, 0, {}
  for i = 1, #all, 2 do
    local at = tonumber(all[i])
    if at > minute - 60 and at <= minute + 1 then -- a later one is of a clock that went back since
      used = used + tonumber(all[i + 1])
      seconds[#seconds + 1] = { at, tonumber(all[i + 1]) }
    else
      redis.call("HDEL", K.GPU_MINUTES .. caller, all[i])
    end
  end
  if used < tonumber(limit) then
    return nil
  end
  table.sort(seconds, function(one, other) return one[1] < other[1] end)
  for _, each in ipairs(seconds) do
    used = used - each[2]
    if used < tonumber(limit) then
      return limit, math.ceil((each[1] + 60 - minute) * 60)
    end
  end
  return limit, 3600
end

local function create()
  if refresh == "0" then
    local result = redis.call("HMGET", K.RESULT .. id, "record", "reusable")
    if result[2] == "1" then
      list_for_caller(false)
      return { "hit", result[1] }
    end
  end
  local refusal = no_room()
  if refusal then
    return { refusal }
  end
  if tonumber(redis.call("GET", K.JOB_BYTES) or "0") + #payload > tonumber(ARGV[17]) then
    return { "bytes_full" }
  end
  local reserved = reserved_bytes(payload, ARGV[19])
  if not has_room(caller, reserved) then
    return { "caller_bytes_full" }
  end
  local limit, wait_s = gpu_time_spent()
  if limit then
    return { "gpu_time_spent", limit, wait_s }
  end
  -- A job and a result never exist together, so a result that exists is the newest.
  redis.call("DEL", K.RESULT .. id, K.EVENTS .. id)
  redis.call("HSET", K.JOB .. id, "lane", lane, "priority", priority, "payload", payload,
    "state", "queued", "owner", "", "token", "", "attempt", 0,
    "deliveries", 0, "refresh", refresh, "deadline_ms", deadline_ms, "submitted_ms", now_ms(),
    "started_ms", "", "consumer", "", "bytes", #payload, "keeps", ARGV[19], "request_id", ARGV[20],
    "traceparent", ARGV[22])
  redis.call("INCRBY", K.JOB_BYTES, #payload)
  reserve(id, caller, reserved, tonumber(ARGV[6]))
  redis.call("SADD", K.CALLERS .. id, caller)
  event(id, "queued", { priority = priority })
  redis.call("PEXPIRE", K.EVENTS .. id, ARGV[10])
  enqueue(id, { lane = lane, priority = priority, deadline_ms = deadline_ms }, false)
  note_interests()
  list_for_caller(true)
  if ARGV[26] ~= "" then
    redis.call("SET", K.EQUAL .. ARGV[26], id, "PX", ARGV[10])
  end
  return { "miss" }
end

local function join()
  local job = fields(id, "lane", "priority", "state", "refresh", "deadline_ms")
  redis.call("SADD", K.CALLERS .. id, caller)
  if deadline_ms > tonumber(job.deadline_ms) then
    job.deadline_ms = deadline_ms
    redis.call("HSET", K.JOB .. id, "deadline_ms", deadline_ms)
    redis.call("ZADD", K.DEADLINES, "XX", deadline_ms, id)
  end
  local raised = BASE[priority] < BASE[job.priority]
  if raised and job.state == "queued" then
    dequeue(id, job)
  end
  if raised then
    job.priority = priority
    redis.call("HSET", K.JOB .. id, "priority", priority)
  end
  -- others wait for an attempt that runs: a refresh neither stops nor changes it
  local older = refresh == "1" and job.refresh == "0" and job.state == "running"
  if refresh == "1" and job.state == "queued" then
    redis.call("HSET", K.JOB .. id, "refresh", "1")
  end
  if raised and job.state == "queued" then
    enqueue(id, job, false)
  elseif job.state == "queued"
    and not redis.call("ZSCORE", K.BACKLOG .. place(job) .. ":" .. caller, id) then
    want(id, job, caller, false)
  end
  note_interests()
  list_for_caller(false)
  return { "join", older and "1" or "0", id }
end

redis.call("SET", K.KEPT_LIMIT, ARGV[18])
local equal = ARGV[26] ~= "" and redis.call("GET", K.EQUAL .. ARGV[26])
if equal and redis.call("EXISTS", K.JOB .. equal) == 1 then
  id = equal
end
if redis.call("EXISTS", K.JOB .. id) == 1 then
  return join()
end
return create()
