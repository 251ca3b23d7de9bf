-- Puts decoder, encoder, runner and sandbox together, in the one order that works: the runner keeps what the sandbox then removes.
-- Arguments: the sources of decode.lua, encode.lua, runner.lua and sandbox.lua. Returns: run (see runner.lua).

local decoder, encoder, runner, sandbox = ...
local decode, shape, wide, canonical = assert(loadstring(decoder, '=decode'))()
local encode, mark, null = assert(loadstring(encoder, '=encode'))(shape, wide, canonical)
local log = {bytes = 0}
local run = assert(loadstring(runner, '=runner'))(decode, encode, log)

-- A call starts with this much room before the collector looks at anything; most never get there.
local ROOM = 6 * 1024 * 1024
collectgarbage('collect')
collectgarbage('setpause', math.floor(ROOM / (collectgarbage('count') * 1024) * 100))
collectgarbage('collect')
collectgarbage('setpause', 200)

assert(loadstring(sandbox, '=sandbox'))(decode, encode, mark, null, log)
return run
