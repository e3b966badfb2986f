-- Reads a record and the frames of some of its blobs in one round trip, only if it is whole.
-- KEYS none. ARGV 1 key of the record, 2... stages whose frames are wanted.
-- Answers {"hit", record, blobs, frame ...} | {"no_record"} | {"no_blob"}, where blobs is
-- "stage digest stage digest ..." and the frames are in its order.

local record, blobs = unpack(redis.call("HMGET", ARGV[1], "record", "blobs"))
if not record then
  return { "no_record" }
end
local wanted = {}
for i = 2, #ARGV do
  wanted[ARGV[i]] = true
end
local answer = { "hit", record, blobs }
for stage, digest in string.gmatch(blobs, "(%S+) (%S+)") do
  if wanted[stage] then
    local frame = redis.call("GET", K.BLOB .. digest)
    if not frame then
      return { "no_blob" }
    end
    answer[#answer + 1] = frame
  elseif redis.call("EXISTS", K.BLOB .. digest) == 0 then
    return { "no_blob" }
  end
end
return answer
