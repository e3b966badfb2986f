#!lua flags=allow-oom
-- A caller with a limit of requests makes one. Requests come at most once in this number of microseconds on
-- average, and a burst of them at once: the generic cell rate algorithm, by the server's clock.
-- KEYS none. ARGV 1 caller, 2 microseconds between requests, 3 burst.
-- Answers {1 | 0 refused, requests left, ms until there is another}.

local name, every, burst = K.REQUEST_RATE .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local due = math.max(now, tonumber(redis.call("GET", name) or "0"))
if due > now + every * burst then
  due = now -- the clock went back since
end
local room = now + every * burst - due
if room < every then
  return { 0, 0, math.ceil((every - room) / 1000) }
end
redis.call("SET", name, string.format("%.0f", due + every), "PX", math.ceil(every * burst / 1000) + 1000)
return { 1, math.floor(room / every) - 1, math.ceil(every / 1000) }
