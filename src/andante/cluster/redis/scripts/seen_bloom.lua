-- The seen test by Bloom filters in plain bitmaps, a layer for each growth (Almeida, Baquero, Preguica, Hutchison 2007).
-- How large the layers are follows from the rate of false positives that was asked for; andante.cluster.redis.bloom has
-- the same rule, and says why it is so.

local RATE = tonumber(ARGV[6])
local FIRST, GROWTH, BYTES_MAX = 32768, 0.6, 33554432

local known
local layers, room = {}, 0

local function add_layer()
  local index = #layers
  local capacity = index == 0 and FIRST or math.floor(room * GROWTH)
  local rate = RATE * 6 / (math.pi ^ 2 * (index + 1) ^ 2)
  local per_url = -math.log(rate) / math.log(2) ^ 2
  local bytes = math.ceil(capacity * per_url / 8)
  if bytes > BYTES_MAX then
    bytes = BYTES_MAX
    capacity = math.floor(bytes * 8 / per_url)
  end
  room = room + capacity
  layers[index + 1] = {
    key = prefix .. 'seen:' .. index,
    bits = bytes * 8,
    hashes = math.ceil(-math.log(rate) / math.log(2)),
  }
  if known == room - capacity then call('SETBIT', layers[index + 1].key, bytes * 8 - 1, 0) end  -- in one piece
end

local function start_seen(count)
  known = count
  while #layers == 0 or room <= known do add_layer() end
end

-- Bits of a fingerprint in a layer: enhanced double hashing (Dillinger, Manolios 2004), with a third step from what the
-- first two leave of the 64 bits, as two alone would collide more often than the rate allows in a small layer.
local function first_bits(layer, low, high)
  local bits = layer.bits
  local left = math.floor(low / bits) * 4096 + math.floor(high / bits)
  return low % bits, high % bits, left % bits
end

local function holds(layer, low, high)
  local bits, key = layer.bits, layer.key
  local x, y, z = first_bits(layer, low, high)
  for _ = 1, layer.hashes do
    if call('GETBIT', key, x) == 0 then return false end
    x = (x + y) % bits
    y = (y + z) % bits
    z = z + 1
  end
  return true
end

-- Mark a fingerprint, given as its two halves; tell whether it is new.
local function mark(low, high)
  for index = #layers - 1, 1, -1 do
    if holds(layers[index], low, high) then return false end
  end
  local layer = layers[#layers]
  local bits = layer.bits
  local x, y, z = first_bits(layer, low, high)
  local words = {}
  for at = 1, 4 * layer.hashes, 4 do
    words[at], words[at + 1], words[at + 2], words[at + 3] = 'SET', 'u1', x, 1
    x = (x + y) % bits
    y = (y + z) % bits
    z = z + 1
  end
  for _, was in ipairs(call('BITFIELD', layer.key, unpack(words))) do
    if was == 0 then
      known = known + 1
      if known == room then add_layer() end
      return true
    end
  end
  return false
end
