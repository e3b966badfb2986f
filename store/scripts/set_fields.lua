#!lua
-- Writes fields of a hash, which lives on from now. KEYS none. ARGV 1 its key, 2 its life in s,
-- then names and values in turn.

redis.call("HSET", ARGV[1], unpack(ARGV, 3))
redis.call("EXPIRE", ARGV[1], ARGV[2])
