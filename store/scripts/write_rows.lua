#!lua
-- An attempt at a sweep writes rows, each an event too; only the attempt whose token is still the job's may.
-- Rows are counted by state, so that a list of sweeps reads none of them.
-- KEYS none. ARGV 1 sweep id, 2 token, then index, state and row (JSON) of each.
-- Answers {"written"} | {"stale"} | {"caller_bytes_full", the limit}: none of them is written.

local id = ARGV[1]
local life_ms = redis.call("PTTL", K.SWEEP .. id)
if redis.call("HGET", K.JOB .. id, "token") ~= ARGV[2] or life_ms <= 0 then
  return { "stale" }
end
local bytes, caller = 0, redis.call("HGET", K.SWEEP .. id, "caller")
for at = 5, #ARGV, 3 do
  bytes = bytes + 2 * #ARGV[at]
end
if not has_room(caller, bytes) then
  return { "caller_bytes_full", redis.call("GET", K.KEPT_LIMIT) or "" }
end
for at = 3, #ARGV, 3 do
  local index, state, row = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local before = redis.call("HGET", K.SWEEP_ROWS .. id, index)
  local is_read, old = pcall(cjson.decode, before or "")
  if is_read and old.state then
    redis.call("HINCRBY", K.SWEEP .. id, "rows:" .. old.state, -1)
  end
  redis.call("HINCRBY", K.SWEEP .. id, "rows:" .. state, 1)
  redis.call("HSET", K.SWEEP_ROWS .. id, index, row)
  redis.call("HDEL", K.SWEEP_JOBS .. id, index)
  redis.call("XADD", K.EVENTS .. id, "MAXLEN", "~", MOST_OF_SWEEP, "*", "type", "row", "data", row)
end
keep_bytes(caller, bytes, life_ms)
redis.call("PEXPIRE", K.SWEEP_ROWS .. id, life_ms)
redis.call("PEXPIRE", K.EVENTS .. id, life_ms)
redis.call("PUBLISH", K.HAPPENED, id)
return { "written" }
