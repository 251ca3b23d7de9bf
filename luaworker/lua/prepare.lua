-- Assembles decoder, encoder, runner and sandbox, in the only order that works: the runner keeps functions that the sandbox removes.
-- Arguments: decode.lua, encode.lua, runner.lua and sandbox.lua, as source or compiled; the names of locks that a test leaves
-- open, each between commas; names and code of modules to load beforehand. Returns: run (see runner.lua).

local decoder, encoder, runner, sandbox, without = ...
local find = string.find
local stock, stocked = {}, select('#', ...) > 5
for at = 6, select('#', ...), 2 do
  local name, code = select(at, ...)
  stock[name] = assert(loadstring(code, '=library/' .. name))
end
local function locked(layer) return not find(without, ',' .. layer .. ',', 1, true) end

-- A call can allocate this much before the collector runs; most calls never need more. Set first, while there is little
-- to collect: a collection of the whole state takes as long as all the rest of its preparation.
local ROOM = 6 * 1024 * 1024
-- A state that processes share: its table of strings is made large enough for a call. Growing the table writes to every
-- string, and then each child gets copies of the pages with these strings.
if stocked then
  for i = 1, 5000 do local _ = 'room ' .. i end
  collectgarbage('collect')
end
collectgarbage('setpause', math.floor(ROOM / (collectgarbage('count') * 1024) * 100))
collectgarbage('collect')
collectgarbage('setpause', 200)

local decode, shape, wide, canonical, empty_lists = assert(loadstring(decoder, '=decode'))()
local encode, mark, null, copy = assert(loadstring(encoder, '=encode'))(shape, wide, canonical, empty_lists, locked('result-checks'))
local log = {bytes = 0}
local exceeded = newproxy()  -- a value without contents: a script that catches it can store nothing in it
local run = assert(loadstring(runner, '=runner'))(decode, encode, log, stock, exceeded, locked('count-hook'), locked('protected-call'))
assert(loadstring(sandbox, '=sandbox'))(decode, encode, mark, null, copy, log, exceeded, locked('allow-list'), locked('bounds'))
return run
