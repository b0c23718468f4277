-- The exact seen test: sets that Redis keeps as sorted arrays of 8-byte integers, by linear hashing (Litwin 1980).
-- How many there are follows from how many URLs are known, so that nothing else need be kept.

local FILL = 200  -- mean of a set; those not yet split have up to twice as many, and Redis's arrays end at 512

local known, buckets, level

local function start_seen(count)
  known = count
  buckets = math.max(4, math.ceil(count / FILL))
  level = 4
  while level * 2 <= buckets do level = level * 2 end
end

local function bucket_of(place)
  local index = place % level
  if index < buckets - level then index = place % (2 * level) end
  return index
end

local function split_next()
  local old, new = prefix .. 'seen:' .. (buckets - level), prefix .. 'seen:' .. buckets
  local stay, move = {}, {}
  for _, member in ipairs(call('SMEMBERS', old)) do
    local low = tonumber(string.sub(member, -10))
    -- The bits of a place are the last two of the high half, which all members of a set share, and then the low half's.
    if math.floor(low * 4 / level) % 2 == 1 then move[#move + 1] = member else stay[#stay + 1] = member end
  end
  if #move > 0 then
    call('DEL', old)
    call('SADD', new, unpack(move))
    if #stay > 0 then call('SADD', old, unpack(stay)) end
  end
  buckets = buckets + 1
  if buckets == level * 2 then level = buckets end
end

-- Mark a fingerprint, given as its two halves; tell whether it is new.
local function mark(low, high)
  -- 2 + 30 + 32 bits: the first choose the set (with some of the last), the others are the member: a decimal number of
  -- a sign and at most 19 digits, which is below 2^63.
  local rest = math.floor(high / 4)
  local sign = ''
  if rest >= 536870912 then
    rest = rest - 536870912
    sign = '-'
  end
  local index = bucket_of(high % 4 + 4 * low)
  local member = sign .. string.format('%d%010d', rest + 1, low)
  if call('SADD', prefix .. 'seen:' .. index, member) == 0 then return false end
  known = known + 1
  if known > FILL * buckets then split_next() end
  return true
end
