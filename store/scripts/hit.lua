#!lua flags=no-writes
-- Reads records and the frames of some of their blobs in one round trip, each only if it is whole.
-- KEYS none. ARGV one for every read, with blanks between: the key of the record and the stages whose
-- frames are wanted; or the key of a request alias, which has both.
-- Answers for every read {"hit", what was read, record, blobs, frame ...} | {"no_record"} |
-- {"no_blob"}, where blobs is "stage digest stage digest ..." and the frames are in its order.

local function read(words)
  local name, wanted = string.match(words, "^%S+"), {}
  for stage in string.gmatch(words, " (%S+)") do
    wanted[stage] = true
  end
  local record, blobs = unpack(redis.call("HMGET", name, "record", "blobs"))
  if not record then
    return { "no_record" }
  end
  local answer = { "hit", words, record, blobs }
  local others = {}
  for stage, digest in string.gmatch(blobs, "(%S+) (%S+)") do
    if wanted[stage] then
      local frame = redis.call("GET", K.BLOB .. digest)
      if not frame then
        return { "no_blob" }
      end
      answer[#answer + 1] = frame
    else
      others[#others + 1] = K.BLOB .. digest
    end
  end
  if #others > 0 and redis.call("EXISTS", unpack(others)) < #others then
    return { "no_blob" }
  end
  return answer
end

local answers = {}
for i, words in ipairs(ARGV) do
  if string.sub(words, 1, #K.REQUEST_ALIAS) == K.REQUEST_ALIAS then
    local named = redis.call("GET", words)
    words = named and K.COMPILATION .. named
  end
  answers[i] = words and read(words) or { "no_record" }
end
return answers
