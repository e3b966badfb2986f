#!lua
-- Jobs get into the list of a caller; those that are in it stay where they are.
-- KEYS none. ARGV 1 collection, 2 caller, 3 ms that they are listed for, 4 most jobs of a list, then their ids.
-- Answers 1.

for at = 5, #ARGV do
  list(ARGV[1], ARGV[2], ARGV[at], ARGV[3], ARGV[4], false)
end
return 1
