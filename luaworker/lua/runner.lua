-- One call: reads the object, compiles the script, runs it, writes the result; and reports precisely what went wrong.
--
-- Invariant: the host calls `run` once and gets flat strings and numbers back; no Lua table, function or error object
-- leaves the state. Everything that can be too long is cut here. The limits here are those that can name a line of the
-- script; the timers of the child and its parent enforce the others.
--
-- Arguments: decode, encode, log, stock (our modules that are loaded, by name), exceeded (the error of a parser without
-- memory; no script can make an equal value); hooked, protected (false in tests of the next layer). Returns: run.

local decode, encode, log, stock, exceeded, hooked, protected = ...

local HOOK_EVERY = 20000
local MAX_DEPTH, MAX_NODES = 100, 1e6
local MAX_MESSAGE, MAX_TRACEBACK, MAX_FRAMES, MAX_LEVELS = 4096, 2048, 60, 250

local G = _G
local error, loadstring, next, rawget, rawset, select, setfenv, setmetatable, tonumber, type, xpcall =
  error, loadstring, next, rawget, rawset, select, setfenv, setmetatable, tonumber, type, xpcall
local unpack = unpack
local byte, find, format, sub = string.byte, string.find, string.format, string.sub
local concat = table.concat
local clock, randomseed = os.clock, math.randomseed
local getinfo, sethook = debug.getinfo, debug.sethook

local name, phase, deadline, limit_text, failure
local run

-- The innermost line of the script itself, or nil if none of it runs. Limited in depth: lost tail calls are levels, too.
local function script_line(level)
  local source = '=' .. name
  for at = level, level + MAX_LEVELS do
    local info = getinfo(at, 'Sl')
    if not info then return nil end
    if info.source == source and info.currentline > 0 then return info.currentline end
  end
end

local DOING = {
  decode = ' while reading the object', compile = ' while compiling the script', run = '',
  encode = ' while writing the result',
}

local function on_count()
  if clock() < deadline then return end
  -- `run` itself may finish: it is about to remove this hook.
  if getinfo(2, 'f').func == run then return end
  -- From now on the hook runs at every instruction, so that a script that catches the error ends, too.
  sethook(on_count, '', 1)
  if not failure then
    local line = script_line(3)
    failure = {
      code = 'TIMEOUT', line = line or 0,
      message = name .. (line and ':' .. line or '') .. ': CPU limit of ' .. limit_text .. ' ms exceeded' .. DOING[phase],
    }
  end
  error(failure.message, 0)
end

local function traceback(level)
  local lines, source, size = {}, '=' .. name, 0
  for at = level, level + MAX_FRAMES do
    local info = getinfo(at, 'Sln')
    if not info or size > MAX_TRACEBACK then break end
    local module = sub(info.source, 1, 9) == '=library/'
    if (module or info.source == source) and info.currentline > 0 then
      local what = info.what == 'main' and 'main chunk' or info.name and 'function ' .. sub(info.name, 1, 64)
        or 'function at line ' .. info.linedefined
      local line = (module and sub(info.source, 2) or name) .. ':' .. info.currentline .. ': in ' .. what
      if line ~= lines[#lines] then  -- a recursion is listed once
        lines[#lines + 1] = line
        size = size + #line
      end
    end
  end
  return sub(concat(lines, '\n'), 1, MAX_TRACEBACK)
end

-- The number in "<name>:<number>:" at the start of a message.
local function line_of(message)
  local _, after = find(message, name .. ':', 1, true)
  if not after or after ~= #name + 1 then return nil end
  local _, _, digits = find(message, '^(%d+):', after + 1)
  if digits and #digits <= 9 then return tonumber(digits) end  -- a script can write anything there
end

local OURS = {decode = true, encode = true, runner = true, sandbox = true}

local function script_failure(problem)
  local message
  if type(problem) == 'string' then
    message = problem
  elseif type(problem) == 'number' then
    message = format('%.14g', problem)
  else
    message = 'error object is a ' .. type(problem) .. ' value'
  end
  local line = script_line(4)
  -- An error on behalf of a wrapper, or with the level of the script's caller, names our file: give the script's line instead.
  local _, prefix, file = find(message, '^(%l+):%d+: ')
  if OURS[file] then message = name .. (line and ':' .. line or '') .. ': ' .. sub(message, prefix + 1) end
  -- A refusal by the library is reported like the script's own error; for other errors inside it, the place is added.
  local _, ended, place = find(message, '^(library/[%l%d_]+:%d+): ')
  if place then
    local refusal = getinfo(3, 'f').func == error
    message = name .. (line and ':' .. line or '') .. ': ' .. sub(message, ended + 1) .. (refusal and '' or ' (in ' .. place .. ')')
  end
  if message == '' then message = 'error object is an empty string' end
  message = sub(message, 1, MAX_MESSAGE)
  return {code = 'RUNTIME_ERROR', message = message, line = line_of(message) or line or 0, traceback = traceback(4)}
end

-- The message handler of `body`; it runs at the place of the error, so the stack can still be read.
local function on_error(problem)
  -- A call that ends without a failure is one that exceeded its memory.
  if failure or problem == exceeded then return end
  if phase == 'run' then
    failure = script_failure(problem)
    return
  end
  if type(problem) ~= 'table' then problem = {message = 'the codec failed'} end
  if phase == 'decode' then
    failure = {code = 'BAD_INPUT', message = 'the object is not usable JSON: ' .. problem.message}
  else
    failure = {code = 'BAD_RESULT', message = 'result: ' .. problem.message, path = problem.path}
  end
end

local function last(...)
  local count = select('#', ...)
  if count == 0 then return nil end
  return (select(count, ...))
end

local function compile(script)
  phase = 'compile'
  if byte(script, 1) == 27 then
    failure = {code = 'SYNTAX_ERROR', message = name .. ': binary chunks are not accepted'}
    return nil
  end
  local chunk, problem = loadstring(script, '=' .. name)
  if not chunk then
    problem = sub(problem, 1, MAX_MESSAGE)
    if problem ~= 'not enough memory' then
      failure = {code = 'SYNTAX_ERROR', message = problem, line = line_of(problem)}
    end
  end
  return chunk
end

local function read_only(module, functions)
  return setmetatable({}, {
    __index = functions, __metatable = false,
    __newindex = function(_, key) error('the module ' .. module .. ' is read only: nothing can be set in it', 2) end,
  })
end

local function compiled_module(module, code, ours)
  if not ours and byte(code, 1) == 27 then
    failure = {code = 'SYNTAX_ERROR', message = name .. ': the module ' .. module .. ' is a binary chunk, which is not accepted'}
    return nil
  end
  if ours and stock[module] then return stock[module] end
  local chunk, problem = loadstring(code, '=library/' .. module)
  if not chunk and problem ~= 'not enough memory' then
    problem = 'the module ' .. module .. ' does not compile: ' .. problem
    failure = {code = 'SYNTAX_ERROR', message = sub(name .. ': ' .. problem, 1, MAX_MESSAGE)}
  end
  return chunk
end

-- A module sees the globals before the script runs, and the modules before it; the script sees a read-only table of each
-- module that it asks for. Arguments for each module: its name, its code, whether it is ours, whether the script sees it.
local function load_modules(...)
  local count = select('#', ...)
  if count == 0 then return true end
  local world = {}
  for key, value in next, G do world[key] = value end
  world._G, world.obj = nil, nil
  for at = 1, count, 4 do
    local module, code, ours, shown = select(at, ...)
    if world[module] ~= nil or module == 'obj' then
      failure = {code = 'BAD_INPUT', message = name .. ': every script has a ' .. module .. ': no module can have that name'}
      return false
    end
    local chunk = compiled_module(module, code, ours)
    if not chunk then return false end
    local functions = setfenv(chunk, world)()
    if type(functions) ~= 'table' then error('the module ' .. module .. ' returns no table of functions', 0) end
    world[module] = functions
    if shown then rawset(G, module, read_only(module, functions)) end
  end
  return true
end

local function body(script, object, clean, max_bytes, ...)
  phase = 'decode'
  if object then rawset(G, 'obj', decode(object, MAX_DEPTH, clean)) end
  local chunk = compile(script)
  if not chunk or not object then return '' end
  phase = 'run'
  if not load_modules(...) then return '' end
  local result = last(chunk())
  phase = 'encode'
  if type(result) ~= 'table' then
    failure = {code = 'BAD_RESULT', message = 'expect table output from Lua script, not ' .. type(result)}
    return ''
  end
  return encode(result, {max_depth = MAX_DEPTH, max_nodes = MAX_NODES, max_bytes = max_bytes, empty = '{}'})
end

-- `object` is nil if the script is only to be compiled; `clean` says that it has no control character; the other arguments are
-- the modules. Returns: code, result, message, traceback, line, path, log.
function run(script, script_name, object, clean, cpu_ms, max_bytes, ...)
  name, limit_text = script_name, format('%.0f', cpu_ms)
  deadline = clock() + cpu_ms / 1000
  randomseed(1)  -- of the process, not of the state: a worker that serves again must not continue the old sequence
  if hooked then sethook(on_count, '', HOOK_EVERY) end
  local ok, result = true, nil
  local modules, count = {...}, select('#', ...)
  if protected then
    ok, result = xpcall(function() return body(script, object, clean, max_bytes, unpack(modules, 1, count)) end, on_error)
  else
    result = body(script, object, clean, max_bytes, ...)
  end
  sethook()
  local printed = concat(log, '\0')
  if failure then
    return failure.code, '', failure.message, failure.traceback or '', failure.line or 0, failure.path or '', printed
  end
  if ok and (object == nil or result ~= '') then return 'OK', result, '', '', 0, '', printed end
  return 'MEMORY_LIMIT', '', name .. ': memory limit exceeded', '', 0, '', printed
end

return run
