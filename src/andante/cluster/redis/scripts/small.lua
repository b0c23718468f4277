-- The small scripts, by ARGV[1].

local DO = {}

-- Make a shard ready for a generation of the crawl. ARGV[2]: generation, [3]: 1 if all shards had been made ready, [4]: settled
function DO.open()
  local found = call('HGET', META, 'generation')
  if found == ARGV[2] then return {'ok'} end
  if ARGV[3] == '1' then return {'lost'} end
  call('HSET', META, 'generation', '')
  if call('EXISTS', SERVERS, STATES, EPOCHS, prefix .. 'seen:0') > 0 then return {'wipe'} end
  call('DEL', META, POOL)
  call('HSET', META, 'generation', ARGV[2], 'settled', ARGV[4])
  return {'ok'}
end

-- All shards are ready. ARGV[2]: generation
function DO.opened()
  if call('HGET', META, 'generation') ~= ARGV[2] then return {'lost'} end
  call('HSET', META, 'opened', 1)
  return {'ok'}
end

-- These data are of no use any more. ARGV[2]: their generation
function DO.lose()
  if call('HGET', META, 'generation') == ARGV[2] then call('HSET', META, 'generation', '') end
  return {'ok'}
end

-- Delete a page of the shard; the last thing is what says that there was a crawl. ARGV[2]: 1 if that goes too, [3]: where to go on, '0' at first
function DO.wipe()
  if ARGV[2] ~= '1' and call('HGET', META, 'generation') ~= '' then return {'ok'} end
  call('HSET', META, 'generation', '')
  if ARGV[3] ~= 'seen' then
    local page = call('HSCAN', SERVERS, ARGV[3], 'COUNT', 200)
    for index = 1, #page[2], 2 do
      call('UNLINK', log_of(page[2][index]))
      call('HDEL', SERVERS, page[2][index])
    end
    return {'more', page[1] == '0' and 'seen' or page[1]}
  end
  local known = tonumber(call('HGET', META, 'known') or 0)
  local last = tonumber(call('HGET', META, 'wiped') or math.ceil(known / 200) + 4)  -- sets, or fewer bitmaps
  local first = math.max(0, last - 500)
  for index = first, last do call('UNLINK', prefix .. 'seen:' .. index) end
  if first > 0 then
    call('HSET', META, 'wiped', first)
    return {'more', 'seen'}
  end
  for _, epoch in ipairs(call('HKEYS', EPOCHS)) do call('UNLINK', mail_of(epoch), gifts_of(epoch)) end
  call('UNLINK', EPOCHS, STATES, POOL, NODES, BEATS, TOKENS, TOLD)
  if ARGV[2] == '1' then call('DEL', META) end
  return {'ok'}
end

-- A node's epoch has ended. ARGV[2]: generation, [3]: epoch
function DO.strike()
  if call('HGET', META, 'generation') ~= ARGV[2] then return {'lost'} end
  call('HDEL', NODES, ARGV[3])
  call('HDEL', BEATS, ARGV[3])
  call('HDEL', TOKENS, ARGV[3])
  return {'ok'}
end

-- Tell all nodes something, and read what was told. ARGV[2]: generation, [3]: epoch, [4]: text, if any
function DO.tell()
  if call('HGET', META, 'generation') ~= ARGV[2] then return {'lost'} end
  if call('HGET', EPOCHS, ARGV[3]) == BURIED then return {'buried'} end
  local told = all_told()
  if ARGV[4] then
    for _, text_of in ipairs(told) do
      if text_of == ARGV[4] then return {'ok', told} end
    end
    call('RPUSH', TOLD, ARGV[4])
  end
  return {'ok', told}
end

-- Entries of a log. ARGV[2]: generation, [3]: epoch, [4]: server, [5], [6]: numbers of the first and the last
function DO.entries()
  if call('HGET', META, 'generation') ~= ARGV[2] then return {'lost'} end
  if call('HGET', EPOCHS, ARGV[3]) == BURIED then return {'buried'} end
  return {'ok', bounded(call('LRANGE', log_of(ARGV[4]), ARGV[5], ARGV[6]))}
end

return DO[ARGV[1]]()
