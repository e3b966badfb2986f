#!lua
-- Keeps a state of the page for the callers who stored it, each within a budget: a caller's oldest give way.
-- KEYS none. ARGV 1 namespace, 2 caller, 3 digest, 4 the state as it is kept, 5 the caller's budget
-- in bytes, 6 life in seconds, 7 bytes that the keys of any state take, 8 characters of a digest that
-- are its short name, 9 the same of earlier versions, whose short names are kept and never added. Returns 1 when the namespace did not have the state, 0 when it did.

local namespace, caller, digest, value = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local budget, life = tonumber(ARGV[5]), tonumber(ARGV[6])
local size_bytes = #value + tonumber(ARGV[7])
local stored, sizes = K.STATES_STORED .. caller, K.STATES_SIZES .. caller

local function short(name, chars)
  return K.STATE_SHORT .. string.sub(name, 1, tonumber(chars) - #digest - 1)
end

local function leads_to(short_name, name)
  return redis.call("GET", short_name) == string.sub(name, -#digest)
end

local function release(name)
  local size = tonumber(redis.call("HGET", sizes, name) or "0")
  redis.call("ZREM", stored, name)
  redis.call("HDEL", sizes, name)
  redis.call("HINCRBY", sizes, "", -size)
  redis.call("SREM", K.STATE_HOLDERS .. name, caller)
  if redis.call("SCARD", K.STATE_HOLDERS .. name) == 0 then
    redis.call("UNLINK", K.STATE .. name)
    for _, short_name in ipairs({short(name, ARGV[8]), short(name, ARGV[9])}) do
      if leads_to(short_name, name) then
        redis.call("UNLINK", short_name)
      end
    end
  end
end

local name = namespace .. ":" .. digest
local is_new = 1 - redis.call("EXISTS", K.STATE .. name)
redis.call("SET", K.STATE .. name, value, "EX", life)
redis.call("SET", short(name, ARGV[8]), digest, "NX") -- a short name keeps its first meaning
redis.call("EXPIRE", short(name, ARGV[8]), life)
if leads_to(short(name, ARGV[9]), name) then
  redis.call("EXPIRE", short(name, ARGV[9]), life)
end
redis.call("SADD", K.STATE_HOLDERS .. name, caller)
redis.call("EXPIRE", K.STATE_HOLDERS .. name, life)
local before = tonumber(redis.call("HGET", sizes, name) or "0")
redis.call("HSET", sizes, name, size_bytes)
redis.call("HINCRBY", sizes, "", size_bytes - before)
local now = redis.call("TIME")
redis.call("ZADD", stored, now[1] * 1000 + math.floor(now[2] / 1000), name)
while tonumber(redis.call("HGET", sizes, "")) > budget do
  local oldest = redis.call("ZRANGE", stored, 0, 0)[1]
  if oldest == name and redis.call("ZCARD", stored) == 1 then
    break
  end
  if oldest == name then
    oldest = redis.call("ZRANGE", stored, 1, 1)[1]
  end
  release(oldest)
end
redis.call("EXPIRE", stored, life)
redis.call("EXPIRE", sizes, life)
return is_new
