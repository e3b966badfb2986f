#!lua flags=allow-oom
-- A worker offers a toolchain; the first one ever offered becomes the default.
-- KEYS none. ARGV 1 id, 2 description (JSON). Answers nothing.

redis.call("ZADD", K.TOOLCHAINS_OFFERED, redis.call("INCR", K.TOOLCHAIN_TURN), ARGV[1])
redis.call("HSET", K.TOOLCHAINS, ARGV[1], ARGV[2])
redis.call("SET", K.DEFAULT_TOOLCHAIN, ARGV[1], "NX")
