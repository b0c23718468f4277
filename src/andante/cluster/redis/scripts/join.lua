-- A node joins, at the first shard; where there is no crawl it begins one.
-- ARGV: generation if it begins, name, token, config, seen test, shards, 1 if the crawl is known to have begun, seconds since 1970

local generation, name, token, config, seen, shards, again, seconds = unpack(ARGV)

local found = call('HGET', META, 'generation')
if found == '' then  -- what there was is of no use any more
  if call('EXISTS', SERVERS, STATES, EPOCHS, prefix .. 'seen:0') > 0 then return {'wipe'} end
  again = '1'
end
if not found or found == '' then
  call('DEL', META, NODES, BEATS, TOKENS, TOLD, POOL)
  if again == '1' then call('HSET', META, 'last', seconds) end  -- no epoch is used again: fewer are than seconds pass
  call('HSET', META, 'generation', generation, 'settled', again == '1' and 0 or 1, 'config', config, 'seen', seen,
    'shards', shards, 'begun', math.floor(now()))
end
local meta = call('HMGET', META, 'generation', 'settled', 'config', 'seen', 'shards', 'opened')
if meta[3] ~= config then return {'config', meta[3]} end
if meta[4] ~= seen then return {'seen', meta[4]} end
local predecessor = 0
local nodes = call('HGETALL', NODES)
for index = 1, #nodes, 2 do
  if struct.unpack('<Bc0', nodes[index + 1], 5) == name then
    if call('HGET', TOKENS, nodes[index]) ~= token then return {'name'} end
    local epoch = tonumber(nodes[index])
    if predecessor == 0 or epoch < predecessor then predecessor = epoch end
  end
end
local epoch = call('HINCRBY', META, 'last', 1)
call('HSET', NODES, epoch, struct.pack('<I4Bc0', 0, #name, name))
call('HSET', TOKENS, epoch, token)
return {'ok', epoch, predecessor, meta[1], all_told(), tonumber(meta[2]), tonumber(meta[5]), tonumber(meta[6] or 0)}
