-- What all scripts share: the keys of a shard, the server records, and handing servers over.
-- The reference of the keys is docs/reference/redis.md.

local call = redis.call
local prefix = string.sub(KEYS[1], 1, -5)  -- KEYS[1] is the shard's 'meta'
local META = KEYS[1]
local SERVERS, STATES, POOL = prefix .. 'servers', prefix .. 'states', prefix .. 'pool'
local EPOCHS, NODES, BEATS = prefix .. 'epochs', prefix .. 'nodes', prefix .. 'beats'
local TOKENS, TOLD = prefix .. 'tokens', prefix .. 'told'
local BURIED = 'x'

local NOBODY, POOLED = 0, 4294967295  -- owners that are no epoch: none, and none but listed in the pool

local function log_of(server) return prefix .. 'log:' .. server end
local function mail_of(epoch) return prefix .. 'mail:' .. epoch end
local function gifts_of(epoch) return prefix .. 'gifts:' .. epoch end

-- Numbers below 255 are a byte, others five.
local function number(value)
  if value < 255 then return string.char(value) end
  return '\255' .. struct.pack('<I4', value)
end

local function text(value) return number(#value) .. value end

local function now()
  local time = call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1e6
end

-- A server's record is its owner and how many URLs wait for it; read once, written once a script.
local records, changed = {}, {}

local function record(server)
  local found = records[server]
  if not found then
    local packed = call('HGET', SERVERS, server)
    found = {owner = NOBODY, waiting = 0}
    if packed then found.owner, found.waiting = struct.unpack('<I4I4', packed) end
    records[server] = found
  end
  return found
end

local function change(server) changed[server] = true end

local function write_records()
  local fields = {}
  for server in pairs(changed) do
    local it = records[server]
    fields[#fields + 1] = server
    fields[#fields + 1] = struct.pack('<I4I4', it.owner, it.waiting)
    if #fields >= 1000 then
      call('HSET', SERVERS, unpack(fields))
      fields = {}
    end
  end
  if #fields > 0 then call('HSET', SERVERS, unpack(fields)) end
end

-- Let a server go to a node, or to the pool; where nothing waits for it, to nobody.
local function give(server, it, to)
  call('HDEL', mail_of(it.owner), server)
  call('SREM', gifts_of(it.owner), server)
  if to ~= NOBODY and call('HGET', EPOCHS, to) == BURIED then to = NOBODY end
  if to ~= NOBODY then
    call('SADD', gifts_of(to), server)
  elseif it.waiting ~= 0 then
    to = POOLED
    call('RPUSH', POOL, server)
  end
  it.owner = to
  change(server)
end

-- What no node has written, and would be too much for one: bytes of an entry, of a state, and of a text that was told; and how many of those are heard.
local ENTRY_MAX, STATE_MAX, TEXT_MAX, TOLD_MAX = 8100000, 1000000, 4096, 10000

local function bounded(entries)
  for index, entry in ipairs(entries) do
    if #entry > ENTRY_MAX then entries[index] = '' end
  end
  return entries
end

local function all_told()
  local told = call('LRANGE', TOLD, 0, TOLD_MAX - 1)
  for index, text_of in ipairs(told) do
    if #text_of > TEXT_MAX then told[index] = '' end
  end
  return told
end

-- State of a server as it was kept, and how many seconds ago.
local function kept(server)
  local packed = call('HGET', STATES, server)
  if not packed or #packed > STATE_MAX then return '', 0 end
  return string.sub(packed, 9), math.max(0, now() - struct.unpack('<d', packed))
end
