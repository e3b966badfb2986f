#!lua
-- Counts bytes that are about to be kept for a caller in addition to its jobs, if there is room for them.
-- KEYS none. ARGV 1 caller, 2 bytes, 3 ms that they are kept. Answers {1} | {0, the limit}.

if not has_room(ARGV[1], tonumber(ARGV[2])) then
  return { 0, redis.call("GET", K.KEPT_LIMIT) or "" }
end
keep_bytes(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
return { 1 }
