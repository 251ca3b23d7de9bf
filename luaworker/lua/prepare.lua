-- Puts decoder, encoder, runner and sandbox together, in the one order that works: the runner keeps what the sandbox then removes.
-- Arguments: decode.lua, encode.lua, runner.lua and sandbox.lua, as source or compiled; the names of locks that a test leaves
-- open, each between commas. Returns: run (see runner.lua).

local decoder, encoder, runner, sandbox, without = ...
local find = string.find
local function locked(layer) return not find(without, ',' .. layer .. ',', 1, true) end
local decode, shape, wide, canonical = assert(loadstring(decoder, '=decode'))()
local encode, mark, null = assert(loadstring(encoder, '=encode'))(shape, wide, canonical, locked('result-checks'))
local log = {bytes = 0}
local run = assert(loadstring(runner, '=runner'))(decode, encode, log, locked('count-hook'), locked('protected-call'))

-- A call starts with this much room before the collector looks at anything; most never get there.
local ROOM = 6 * 1024 * 1024
collectgarbage('setpause', math.floor(ROOM / (collectgarbage('count') * 1024) * 100))
collectgarbage('collect')
collectgarbage('setpause', 200)

assert(loadstring(sandbox, '=sandbox'))(decode, encode, mark, null, log, locked('allow-list'), locked('bounds'))
return run
