-- One page of a walk through all servers: those of a buried epoch are given away, or those that nobody owns listed in the pool.
-- ARGV: generation, epoch of the node that says it, 'bury' or 'settle', cursor, epoch that is buried, to whom its servers go,
-- how many beats it must have had (empty: however many)

if call('HGET', META, 'generation') ~= ARGV[1] then return {'lost'} end
local is_burial, epoch, to, beats = ARGV[3] == 'bury', tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local is_own = ARGV[2] == ARGV[5] and ARGV[4] ~= '0'  -- to leave takes several pages
if not is_own and call('HGET', EPOCHS, ARGV[2]) == BURIED then return {'buried'} end

if ARGV[4] == '0' then
  if is_burial then
    local node = beats ~= '' and call('HGET', NODES, epoch)
    if node and struct.unpack('<I4', node) ~= tonumber(beats) then return {'lives'} end
    call('HSET', EPOCHS, epoch, BURIED)
  else
    call('HSET', META, 'settled', 1)
  end
end
local page = call('HSCAN', SERVERS, ARGV[4], 'COUNT', 200)
for index = 1, #page[2], 2 do
  local server = page[2][index]
  local it = record(server)
  if is_burial and it.owner == epoch then
    give(server, it, to)
  elseif not is_burial and it.owner == NOBODY and it.waiting ~= 0 then
    it.owner = POOLED
    call('RPUSH', POOL, server)
    change(server)
  end
end
write_records()
if is_burial and page[1] == '0' then call('DEL', mail_of(epoch), gifts_of(epoch)) end
return {'ok', page[1]}
