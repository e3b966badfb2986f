#!lua flags=no-writes
-- How many jobs of each lane wait for a worker, and for how long the oldest has waited.
-- KEYS none. ARGV lanes. Answers for every lane {jobs, ms}.

local answers = {}
for i, lane in ipairs(ARGV) do
  local oldest = redis.call("ZRANGE", K.WAITING .. lane, 0, 0, "WITHSCORES")[2]
  answers[i] = { redis.call("ZCARD", K.WAITING .. lane), oldest and now_ms() - tonumber(oldest) or 0 }
end
return answers
