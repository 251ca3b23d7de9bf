-- Puts decoder, encoder, runner and sandbox together, in the one order that works: the runner keeps what the sandbox then removes.
-- Arguments: decode.lua, encode.lua, runner.lua and sandbox.lua, as source or compiled; the names of locks that a test leaves
-- open, each between commas; names and code of modules to have in stock. Returns: run (see runner.lua).

local decoder, encoder, runner, sandbox, without = ...
local find = string.find
local stock, stocked = {}, select('#', ...) > 5
for at = 6, select('#', ...), 2 do
  local name, code = select(at, ...)
  stock[name] = assert(loadstring(code, '=library/' .. name))
end
local function locked(layer) return not find(without, ',' .. layer .. ',', 1, true) end

-- A call starts with this much room before the collector looks at anything; most never get there. Said first, while there
-- is little to collect: a collection of the whole state costs as much as all the rest of it.
local ROOM = 6 * 1024 * 1024
-- A state that processes share: its table of strings has room for those of a call. To grow it writes on every string there
-- is, and then each child has a copy of the pages they are on.
if stocked then
  for i = 1, 5000 do local _ = 'room ' .. i end
  collectgarbage('collect')
end
collectgarbage('setpause', math.floor(ROOM / (collectgarbage('count') * 1024) * 100))
collectgarbage('collect')
collectgarbage('setpause', 200)

local decode, shape, wide, canonical = assert(loadstring(decoder, '=decode'))()
local encode, mark, null = assert(loadstring(encoder, '=encode'))(shape, wide, canonical, locked('result-checks'))
local log = {bytes = 0}
local run = assert(loadstring(runner, '=runner'))(decode, encode, log, stock, locked('count-hook'), locked('protected-call'))
assert(loadstring(sandbox, '=sandbox'))(decode, encode, mark, null, log, locked('allow-list'), locked('bounds'))
return run
