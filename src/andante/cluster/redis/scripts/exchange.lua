-- A node's report, or its part for this shard, carried out once; and what the node is to hear.
-- ARGV: generation, epoch, sequence (0: nothing is to be done), parts, beat, rate of false positives, most entries in an answer

local generation, epoch, sequence, parts, beat = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local ANSWER_MAX, ANSWER_BYTES = tonumber(ARGV[7]), 1000000

local meta = call('HMGET', META, 'generation', 'settled', 'waiting', 'known', 'changes')
if meta[1] ~= generation then return {'lost'} end
local settled = meta[2] == '1'
local waiting, changes = tonumber(meta[3] or 0), tonumber(meta[5] or 0)
local said = call('HGET', EPOCHS, epoch)
if said == BURIED then return {'buried'} end

-- Reading the parts

local at = 1

local function read()
  local value = string.byte(parts, at)
  at = at + 1
  if value == 255 then value, at = struct.unpack('<I4', parts, at) end
  return value
end

local function read_text()
  local length = read()
  at = at + length
  return string.sub(parts, at - length, at - 1)
end

local names = {}  -- a server that was named before is an empty text and its number

local function read_server()
  local name = read_text()
  if name == '' then return names[read()] end
  names[#names + 1] = name
  return name
end

-- The parts

-- Mark so many fingerprints; return what is answered for them (none fresh, all, or a bit for each), the mask alone, and how many are fresh.
local function mark_all(count)
  local fresh, total = {}, 0
  for index = 1, count do
    local low, high
    low, high, at = struct.unpack('<I4I4', parts, at)
    fresh[index] = mark(low, high) and 1 or 0
    total = total + fresh[index]
  end
  if total == 0 then return '\0', '', 0 end
  if total == count then return '\1', '', total end
  local mask = {}
  for first = 1, count, 8 do
    local byte = 0
    for index = math.min(first + 7, count), first, -1 do byte = byte * 2 + fresh[index] end
    mask[#mask + 1] = string.char(byte)
  end
  mask = table.concat(mask)
  return '\2' .. mask, number(count) .. mask, total
end

local function links(takes)
  local server = read_server()
  local answer, mask, fresh = mark_all(read())
  local entry = read_text()
  local it, state = record(server), '\0'
  if it.owner == NOBODY and takes and settled then
    it.owner = epoch
    change(server)
    local text_of, aged = kept(server)
    state = text_of == '' and '\1' or '\2' .. text(text_of) .. struct.pack('<d', aged)
  end
  local length
  if fresh > 0 then
    if it.owner == NOBODY and settled then
      it.owner = POOLED
      call('RPUSH', POOL, server)
    end
    length = call('RPUSH', log_of(server), (mask == '' and 'L' or 'M') .. number(epoch) .. mask .. entry)
    if it.owner ~= POOLED and it.owner ~= NOBODY and it.owner ~= epoch then
      call('HSETNX', mail_of(it.owner), server, length - 1)
    end
    it.waiting = it.waiting + fresh
    waiting = waiting + fresh
    changes = changes + 1
    change(server)
  else
    length = call('LLEN', log_of(server))
  end
  return number(it.owner == POOLED and NOBODY or it.owner) .. number(length) .. answer .. state
end

-- What only the owner may say.
local function owned(act)
  return function()
    local server = read_server()
    local it = record(server)
    return act(it.owner == epoch, server, it) and '\1' or '\0'
  end
end

local function ended(is_owner, server, it)
  local count = read()
  at = at + 8 * count
  if not is_owner then return false end
  call('RPUSH', log_of(server), 'E' .. number(epoch) .. string.sub(parts, at - 8 * count, at - 1))
  local fewer = math.min(count, it.waiting)
  it.waiting = it.waiting - fewer
  waiting = waiting - fewer
  change(server)
  return true
end

local function keep(is_owner, server)
  local state = read_text()
  if is_owner then call('HSET', STATES, server, struct.pack('<d', now()) .. state) end
  return is_owner
end

local function give_away(is_owner, server, it)
  local to = read()
  if is_owner then give(server, it, to) end
  return is_owner
end

local function rewrite(is_owner, server, it)
  local log = log_of(server)
  local done = is_owner and call('HEXISTS', mail_of(epoch), server) == 0
  local total = 0
  if done then call('DEL', log) end
  for _ = 1, read() do
    local count = read()
    if done then mark_all(count) else at = at + 8 * count end
    local entry = read_text()
    if done then call('RPUSH', log, 'L' .. number(epoch) .. entry) end
    total = total + count
  end
  if done then
    waiting = waiting + total - it.waiting
    it.waiting = total
    change(server)
  end
  return done
end

local function heard()
  local server, length = read_server(), read()
  call('SREM', gifts_of(epoch), server)
  local start = call('HGET', mail_of(epoch), server)
  if start then
    if length >= call('LLEN', log_of(server)) then
      call('HDEL', mail_of(epoch), server)
    else
      call('HSET', mail_of(epoch), server, math.max(tonumber(start), length))
    end
  end
  return ''
end

local function know()
  mark_all(read())
  return ''
end

local function own()
  local server = read_server()
  local it = record(server)
  local is_free = it.owner == NOBODY or it.owner == POOLED or it.owner == epoch
  if settled or not is_free then return '\0' end
  if it.owner == POOLED then call('LREM', POOL, 1, server) end
  call('DEL', log_of(server))
  call('HDEL', mail_of(epoch), server)
  call('SREM', gifts_of(epoch), server)
  waiting = waiting - it.waiting
  it.owner, it.waiting = epoch, 0
  change(server)
  return '\1'
end

local function grant(server, it)
  local state, aged = kept(server)
  return text(server) .. number(it.waiting) .. text(state) .. struct.pack('<d', aged)
end

local function take()
  local urls, servers = read(), read()
  local grants, total, bytes = {}, 0, 0
  while settled and total < urls and #grants < servers and bytes <= ANSWER_BYTES do
    local server = call('LPOP', POOL)
    if not server then break end
    local it = record(server)
    it.owner = epoch
    change(server)
    total = total + it.waiting
    grants[#grants + 1] = grant(server, it)
    bytes = bytes + #grants[#grants]
  end
  return number(#grants) .. table.concat(grants)
end

local DO = {
  L = function() return links(true) end,
  l = function() return links(false) end,
  E = owned(ended), K = owned(keep), G = owned(give_away), R = owned(rewrite),
  H = heard, N = know, O = own, T = take,
}

-- What the node is to hear

-- Some of a hash or set. A table that was large, and could not shrink while Redis saved its data, is mostly empty: a page of it may be, too.
local function some_of(scan, key)
  local page = {'0'}
  repeat page = call(scan, key, page[1], 'COUNT', ANSWER_MAX) until page[1] == '0' or #page[2] > 0
  return page[2]
end

local function mail()
  local found, left, bytes = {}, ANSWER_MAX, 0
  local starts = some_of('HSCAN', mail_of(epoch))
  for index = 1, #starts, 2 do
    if left <= 0 or bytes > ANSWER_BYTES then break end
    local start = tonumber(starts[index + 1])
    local entries = bounded(call('LRANGE', log_of(starts[index]), start, start + left - 1))
    found[#found + 1], found[#found + 2], found[#found + 3] = starts[index], start, entries
    left = left - #entries
    for _, entry in ipairs(entries) do bytes = bytes + #entry end
  end
  return found
end

local function gifts()
  local found, bytes = {}, 0
  for _, server in ipairs(some_of('SSCAN', gifts_of(epoch))) do
    if #found == ANSWER_MAX or bytes > ANSWER_BYTES then break end
    found[#found + 1] = grant(server, record(server))
    bytes = bytes + #found[#found]
  end
  return number(#found) .. table.concat(found)
end

-- Once, however often it is sent

local known_now = tonumber(meta[4] or 0)
local answers = ''
if sequence > 0 then
  local last = said and struct.unpack('<I4', said) or 0
  if sequence < last then return {'stale'} end
  if sequence > last + 1 then  -- what was answered to this node is gone: these data are of an earlier time
    call('HSET', META, 'generation', '')
    return {'lost'}
  end
  if sequence == last then
    answers = string.sub(said, 5)
  else
    call('HINCRBY', META, 'scripts', 1)  -- the first write is one that a full Redis refuses, and so all of them are
    if parts ~= '' then
      start_seen(known_now)
      local done = {}
      while at <= #parts do
        local operation = string.sub(parts, at, at)
        at = at + 1
        done[#done + 1] = DO[operation]()
      end
      answers = table.concat(done)
      known_now = known
      write_records()
      call('HSET', META, 'waiting', waiting, 'known', known_now, 'changes', changes)
    end
    if beat ~= '' then
      local node = call('HGET', NODES, epoch)
      local name, after = struct.unpack('<Bc0', node, 5)
      call('HSET', NODES, epoch, struct.pack('<I4Bc0', struct.unpack('<I4', node) + 1, #name, name) .. beat)
      call('HSET', BEATS, epoch, struct.pack('<d', now()))
    end
    call('HSET', EPOCHS, epoch, struct.pack('<I4', sequence) .. answers)
  end
end
return {
  'ok', answers, waiting, known_now, call('LLEN', POOL), changes, mail(), gifts(),
  call('HGETALL', NODES), call('LLEN', TOLD), settled and 1 or 0,
}
