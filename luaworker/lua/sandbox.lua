-- The globals of a script: an allow-list of Lua 5.1, made predictable and limited.
--
-- This is the second line of defence. The first is the process around it: an attacker who gets past this file has only
-- the memory of one child that answers one request. This file keeps honest scripts deterministic (sorted `pairs`, no
-- addresses in text), gives good messages, and closes the two known crashes of the engine that a wrapper can close.
--
-- Invariant: the *real* global table is reduced, so `getfenv(0)` returns the same globals; wrappers use captured locals
-- only. `error(text, 2)` reports the script's line, not ours.
--
-- Arguments: decode, encode, mark, null, copy, log (array of the printed lines; `log.bytes` counts them), exceeded (the error of
-- a parser without memory); stripped, bounded (false in tests of the next layer).

local decode, encode, mark, null, copy, log, exceeded, stripped, bounded = ...

local UNBOUNDED = math.huge
local MAX_REPEATED = bounded and 16 * 1024 * 1024 or UNBOUNDED
local MAX_PATTERN = bounded and 2048 or UNBOUNDED
local MAX_CHUNK = bounded and 1024 * 1024 or UNBOUNDED
local MAX_UNPACKED = 7000
local MAX_LOG = 8 * 1024

local G = _G
local collectgarbage, error, getmetatable, loadstring, next, pcall, rawget, select, setmetatable, tonumber, tostring, type,
  unpack = collectgarbage, error, getmetatable, loadstring, next, pcall, rawget, select, setmetatable, tonumber, tostring,
  type, unpack
local byte, find, format, gmatch, gsub, match, rep, sub =
  string.byte, string.find, string.format, string.gmatch, string.gsub, string.match, string.rep, string.sub
local concat, insert, sort = table.concat, table.insert, table.sort
local floor = math.floor

---------------------------------------------------------------------------------------------------- text of a value

local names = setmetatable({}, {__mode = 'k'})
local named = 0

-- Whole numbers are written as gopher-lua does; a table's name is a count, not its address.
local function text_of(value)
  local kind = type(value)
  if kind == 'number' then
    if value == floor(value) and value < 1e21 and value > -1e21 then return format('%.0f', value) end
    return tostring(value)
  end
  if kind == 'string' or kind == 'boolean' or kind == 'nil' then return tostring(value) end
  local meta = getmetatable(value)
  if type(meta) == 'table' and rawget(meta, '__tostring') ~= nil then return tostring(value) end
  if not names[value] then
    named = named + 1
    names[value] = format('%s: 0x%04x', kind, named)
  end
  return names[value]
end

local function print_line(...)
  local parts = {}
  for i = 1, select('#', ...) do parts[i] = text_of((select(i, ...))) end
  local room = MAX_LOG - log.bytes
  if room <= 0 then return end
  local line = gsub(sub(concat(parts, '\t'), 1, room), '%z', '?')
  log.bytes = log.bytes + #line + 1
  insert(log, line)
end

---------------------------------------------------------------------------------------------------- base

-- The present keys, numbers first, each kind in order: the same on every run, and safe against changes during the loop.
local function sorted_pairs(t)
  if type(t) ~= 'table' then
    error("bad argument #1 to 'pairs' (table expected, got " .. (t == nil and 'nil' or type(t)) .. ')', 2)
  end
  local strings, numbers, others = {}, nil, nil
  local count = 0
  for key in next, t do
    local kind = type(key)
    if kind == 'string' then
      count = count + 1
      strings[count] = key
    elseif kind == 'number' then
      numbers = numbers or {}
      numbers[#numbers + 1] = key
    else
      others = others or {}
      others[#others + 1] = key
    end
  end
  if count > 1 then sort(strings) end
  local keys = strings
  if numbers then
    sort(numbers)
    for i = 1, count do numbers[#numbers + 1] = strings[i] end
    keys = numbers
  end
  for _, key in next, others or {} do keys[#keys + 1] = key end
  local i = 0
  return function()
    while true do
      i = i + 1
      local key = keys[i]
      if key == nil then return nil end
      local value = rawget(t, key)
      if value ~= nil then return key, value end
    end
  end, t, nil
end

local function checked_unpack(t, first, last)
  if not bounded then return unpack(t, first, last) end
  local from = first == nil and 1 or tonumber(first)
  local to = last == nil and (type(t) == 'table' and #t or 0) or tonumber(last)
  -- The engine computes the count in an int, and writes out of bounds if it overflows; NaN becomes the smallest int.
  if from ~= from or to ~= to then error("bad argument to 'unpack' (index is NaN)", 2) end
  if from and to and to - from >= MAX_UNPACKED then error('too many results to unpack', 2) end
  if from and to and (from < -2147483647 or to > 2147483647) then error('too many results to unpack', 2) end
  return unpack(t, first, last)
end

local function compile(chunk, name)
  if #chunk > MAX_CHUNK then return nil, 'chunk is larger than ' .. MAX_CHUNK .. ' bytes' end
  if bounded and byte(chunk, 1) == 27 then return nil, 'binary chunks are not accepted' end
  if type(name) ~= 'string' then name = '=(load)' end
  local compiled, problem = loadstring(chunk, sub(name, 1, 256))
  -- The parser's own memory may be the last: a script that ignored the answer would name another fault.
  if not compiled and problem == 'not enough memory' then error(exceeded, 0) end
  return compiled, problem
end

local function load_string(chunk, name)
  if type(chunk) ~= 'string' then
    error("bad argument #1 to 'loadstring' (string expected, got " .. type(chunk) .. ')', 2)
  end
  return compile(chunk, name)
end

-- Pieces are joined before the parser gets them: a reader that the parser calls could free the parser's memory.
local function load_pieces(reader, name)
  if type(reader) == 'string' then return compile(reader, name) end
  if type(reader) ~= 'function' then
    error("bad argument #1 to 'load' (function expected, got " .. type(reader) .. ')', 2)
  end
  local parts, size = {}, 0
  while true do
    local piece = reader()
    if piece == nil or piece == '' then break end
    if type(piece) ~= 'string' then return nil, 'reader function must return a string' end
    size = size + #piece
    if size > MAX_CHUNK then return nil, 'chunk is larger than ' .. MAX_CHUNK .. ' bytes' end
    parts[#parts + 1] = piece
  end
  return compile(concat(parts), name)
end

local function collect(option)
  if option == nil or option == 'collect' then collectgarbage('collect') end
  return 0  -- for 'count', too: the same object gives the same answer, whatever the process did before
end

---------------------------------------------------------------------------------------------------- string

local function check_pattern(pattern, name)
  if type(pattern) == 'string' and #pattern > MAX_PATTERN then
    error("pattern given to '" .. name .. "' is longer than " .. MAX_PATTERN .. ' bytes', 3)
  end
end

local function checked_rep(s, n)
  local count = tonumber(n)
  if type(s) == 'number' then s = text_of(s) end
  if type(s) == 'string' and count then
    if bounded and s == '' then return '' end  -- the engine would count to the end
    if #s * count > MAX_REPEATED then error("result of 'rep' is larger than " .. MAX_REPEATED .. ' bytes', 2) end
  end
  return rep(s, n)
end

local function plain_for_format(value)
  local kind = type(value)
  return kind == 'string' or (kind == 'number' and value < 1e14 and value > -1e14)
end

-- The engine's %s needs a string or a number; gopher-lua accepts every value.
local function lenient_format(pattern, ...)
  local count = select('#', ...)
  local plain = true
  for i = 1, count do plain = plain and plain_for_format((select(i, ...))) end
  if plain or type(pattern) ~= 'string' then return format(pattern, ...) end
  local values, index = {...}, 0
  for conversion in gmatch(pattern, '%%[-+ #0-9.]*(.)') do
    if conversion ~= '%' then
      index = index + 1
      if conversion == 's' and index <= count then values[index] = text_of(values[index]) end
    end
  end
  return format(pattern, unpack(values, 1, count))
end

local strings = {
  byte = byte, char = string.char, len = string.len, lower = string.lower, reverse = string.reverse, sub = sub,
  upper = string.upper, rep = checked_rep, format = lenient_format,
  find = function(s, pattern, init, plain)
    if not plain then check_pattern(pattern, 'find') end
    return find(s, pattern, init, plain)
  end,
  match = function(s, pattern, init)
    check_pattern(pattern, 'match')
    return match(s, pattern, init)
  end,
  gmatch = function(s, pattern)
    check_pattern(pattern, 'gmatch')
    return gmatch(s, pattern)
  end,
  gsub = function(s, pattern, with, limit)
    check_pattern(pattern, 'gsub')
    if limit == nil then return gsub(s, pattern, with) end
    return gsub(s, pattern, with, limit)
  end,
}

---------------------------------------------------------------------------------------------------- json

local GO_LIKE = {max_depth = 100, max_nodes = 1e6, max_bytes = 16 * 1024 * 1024, empty = 'null', like_go = true}

local function problem(failure)
  if type(failure) ~= 'table' then return text_of(failure) end
  return failure.path and failure.message .. ' at ' .. failure.path or failure.message
end

-- Like Go's encoder, with one deviation: a table that came from JSON as [] or {} is written in the same form.
local function json_encode(value)
  local ok, result = pcall(encode, value, GO_LIKE)
  if ok then return result end
  return nil, problem(result)
end

-- With {nulls = true} a null is json.null: a list keeps the places of its items.
local function json_decode(source, options)
  if type(source) ~= 'string' then
    error("bad argument #1 to 'decode' (string expected, got " .. type(source) .. ')', 2)
  end
  if options ~= nil and type(options) ~= 'table' then
    error("bad argument #2 to 'decode' (table expected, got " .. type(options) .. ')', 2)
  end
  local ok, result = pcall(decode, source, 100, false, options and rawget(options, 'nulls') == true and null or nil)
  if ok then return result end
  return nil, problem(result)
end

local function marked(value, kind)
  if value ~= nil and type(value) ~= 'table' then
    error("bad argument #1 to '" .. kind .. "' (table expected, got " .. type(value) .. ')', 3)
  end
  return mark(value or {}, kind)
end

local function json_copy(value)
  local ok, result = pcall(copy, value, 0)
  if not ok then error(result, 2) end
  return result
end

local json = {
  copy = json_copy,
  encode = json_encode,
  decode = json_decode,
  null = null,
  array = function(t) return (marked(t, 'array')) end,  -- no tail call: an error needs its caller on the stack
  object = function(t) return (marked(t, 'object')) end,
}

---------------------------------------------------------------------------------------------------- the world

local T = table
local tables = {
  concat = concat, foreach = T.foreach, foreachi = T.foreachi, getn = T.getn, insert = insert, maxn = T.maxn,
  remove = T.remove, sort = sort,
  create = function() return {} end,
}

local world = {
  assert = assert, error = error, getmetatable = getmetatable, setmetatable = setmetatable, ipairs = ipairs, next = next,
  pairs = sorted_pairs, pcall = pcall, xpcall = xpcall, rawequal = rawequal, rawget = rawget, rawset = rawset,
  select = select, tonumber = tonumber, tostring = text_of, type = type, unpack = checked_unpack,
  loadstring = load_string, load = load_pieces, print = print_line, collectgarbage = collect,
  getfenv = getfenv, setfenv = setfenv, math = math, string = strings, table = tables, json = json,
  _VERSION = _VERSION,
}

local function empty(t)
  local key = next(t)
  while key ~= nil do
    t[key] = nil
    key = next(t)
  end
end

local meta = getmetatable('')
meta.__index = strings
meta.__metatable = false
if stripped then
  empty(package.loaded)
  empty(package.preload)
  empty(package.loaders)
  empty(package)
  empty(string)
  empty(G)
end
for name, value in next, world do G[name] = value end
G._G = G
