#!lua flags=allow-oom
-- An attempt that finished a job amends its record and appends an event; only that attempt may. A record
-- for which there is no room is left as it is: the event has what is new.
-- KEYS none. ARGV 1 id, 2 token, 3 record or "", 4 kind of the event, 5 its data (JSON).
-- Answers 1 | 0.

local id = ARGV[1]
local counts = redis.call("HGET", K.RESULT .. id, "finished") == ARGV[2]
if counts then
  local caller = redis.call("HGET", K.LAUNCH .. id, "caller")
  local more = #ARGV[3] - redis.call("HSTRLEN", K.RESULT .. id, "record")
  local fits = #ARGV[3] <= L.MAX_RECORD_BYTES and (more <= 0 or not is_full(more))
  if ARGV[3] ~= "" and fits and (more <= 0 or not caller or has_room(caller, more)) then
    redis.call("HSET", K.RESULT .. id, "record", ARGV[3])
    keep_bytes(caller, more, redis.call("PTTL", K.RESULT .. id))
  end
  if #ARGV[5] <= L.MAX_EVENT_BYTES then
    redis.call("XADD", K.EVENTS .. id, "MAXLEN", "~", 200, "*", "type", ARGV[4], "data", ARGV[5])
  end
end
redis.call("DEL", K.AMENDMENT .. id)
redis.call("PUBLISH", K.HAPPENED, id)
return counts and 1 or 0
