#!lua flags=allow-oom
-- Writes the small things that must be known on a full server, too: which workers there are, and what they have.
-- KEYS none. ARGV 1 the commands, a JSON list of lists of words. Answers nothing.

for _, command in ipairs(cjson.decode(ARGV[1])) do
  redis.call(unpack(command))
end
