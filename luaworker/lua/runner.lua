-- One call: read the object, compile the script, run it, write the result; and say precisely what went wrong.
--
-- Invariant: the host calls `run` once and gets flat strings and numbers back; no Lua table, function or error object
-- crosses. Everything that can be too long is cut here. The limits kept here are the polite ones, those that can name a
-- line; the child's timers and its parent keep the others.
--
-- Arguments: decode, encode, log; hooked, protected (false in tests of what stands behind). Returns: run.

local decode, encode, log, hooked, protected = ...

local HOOK_EVERY = 20000
local MAX_DEPTH, MAX_NODES = 100, 1e6
local MAX_MESSAGE, MAX_TRACEBACK, MAX_FRAMES, MAX_LEVELS = 4096, 2048, 60, 250

local G = _G
local error, loadstring, rawset, select, tonumber, type, xpcall =
  error, loadstring, rawset, select, tonumber, type, xpcall
local byte, find, format, sub = string.byte, string.find, string.format, string.sub
local concat = table.concat
local clock, randomseed = os.clock, math.randomseed
local getinfo, sethook = debug.getinfo, debug.sethook

local name, phase, deadline, limit_text, failure
local run

-- The innermost line of the script itself, or nil while none of it runs. Not too far down: lost tail calls are levels too.
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
  -- From now on at every instruction, so that a script that catches the error unwinds too.
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
    if info.source == source and info.currentline > 0 then
      local what = info.what == 'main' and 'main chunk' or info.name and 'function ' .. sub(info.name, 1, 64)
        or 'function at line ' .. info.linedefined
      local line = name .. ':' .. info.currentline .. ': in ' .. what
      if line ~= lines[#lines] then  -- a recursion is said once
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
  -- What is raised on behalf of a wrapper, or blames the script's caller, names our file: say the script's line instead.
  local _, prefix, file = find(message, '^(%l+):%d+: ')
  if OURS[file] then message = name .. (line and ':' .. line or '') .. ': ' .. sub(message, prefix + 1) end
  if message == '' then message = 'error object is an empty string' end
  message = sub(message, 1, MAX_MESSAGE)
  return {code = 'RUNTIME_ERROR', message = message, line = line_of(message) or line or 0, traceback = traceback(4)}
end

-- The message handler of `body`; it runs where the error happened, so the stack can still be read.
local function on_error(problem)
  if failure then return end
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

local function body(script, object, clean, max_bytes)
  phase = 'decode'
  if object then rawset(G, 'obj', decode(object, MAX_DEPTH, clean)) end
  local chunk = compile(script)
  if not chunk or not object then return '' end
  phase = 'run'
  local result = last(chunk())
  phase = 'encode'
  if type(result) ~= 'table' then
    failure = {code = 'BAD_RESULT', message = 'expect table output from Lua script, not ' .. type(result)}
    return ''
  end
  return encode(result, {max_depth = MAX_DEPTH, max_nodes = MAX_NODES, max_bytes = max_bytes, empty = '{}'})
end

-- `object` is nil where the script is only to be compiled; `clean` says that it holds no control character. Returns: code, result, message, traceback, line, path, log.
function run(script, script_name, object, clean, cpu_ms, max_bytes)
  name, limit_text = script_name, format('%.0f', cpu_ms)
  deadline = clock() + cpu_ms / 1000
  randomseed(1)  -- of the process, not of the state: a worker that serves again must not go on where it was
  if hooked then sethook(on_count, '', HOOK_EVERY) end
  local ok, result = true, nil
  if protected then
    ok, result = xpcall(function() return body(script, object, clean, max_bytes) end, on_error)
  else
    result = body(script, object, clean, max_bytes)
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
