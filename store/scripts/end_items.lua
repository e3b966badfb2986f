#!lua flags=allow-oom
-- Items of a batch are over that have no job (any more): hits, refusals, what was cancelled.
-- KEYS none. ARGV 1 batch, then for each: indices with blanks between, state, record. Answers nothing.

for i = 2, #ARGV, 3 do
  end_items(ARGV[1], ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
