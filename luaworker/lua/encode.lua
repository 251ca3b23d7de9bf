-- Encodes JSON: the counterpart of decode.lua, whose stored facts about tables it uses as long as they are still true.
--
-- Keys are sorted, so the same answer always has the same bytes. An unchanged array gets its nulls back, and an unchanged
-- number its spelling; values that a script created or changed are written in the standard form.
--
-- Invariant: only captured locals are used, metatables are never called, nothing is written beyond the limits in `options`.
-- Failures are raised as tables {message=, path=}.
--
-- Arguments: shape, wide, canonical, empty_lists, checked (false in tests of the next layer). Returns: encode(value, options), mark(table, kind), null,
-- copy(value, depth).

local shape, wide, canonical, empty_lists, checked = ...

local char, find, format, gsub, sub = string.char, string.find, string.format, string.gsub, string.sub
local concat, sort = table.concat, table.sort
local error, getmetatable, next, rawequal, rawget, type = error, getmetatable, next, rawequal, rawget, type
local floor, huge = math.floor, math.huge

local ARRAY, OBJECT = 'array', 'object'
local WIDE = 9007199254740992
local COPIED = 100  -- the greatest depth of a copy; no deeper value can be written
local null = newproxy()

local ESCAPED = {['"'] = '\\"', ['\\'] = '\\\\', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t'}
for code = 0, 31 do
  local c = char(code)
  ESCAPED[c] = ESCAPED[c] or format('\\u%04x', code)
end

-- Position of the first byte that is not UTF-8 (RFC 3629: shortest form, no surrogates), or nil.
local function invalid_utf8(s)
  local i = find(s, '[\128-\255]')
  while i do
    local _, last = find(s, '^[\194-\223][\128-\191]', i)
    if not last then _, last = find(s, '^\224[\160-\191][\128-\191]', i) end
    if not last then _, last = find(s, '^[\225-\236\238\239][\128-\191][\128-\191]', i) end
    if not last then _, last = find(s, '^\237[\128-\159][\128-\191]', i) end
    if not last then _, last = find(s, '^\240[\144-\191][\128-\191][\128-\191]', i) end
    if not last then _, last = find(s, '^[\241-\243][\128-\191][\128-\191][\128-\191]', i) end
    if not last then _, last = find(s, '^\244[\128-\143][\128-\191][\128-\191]', i) end
    if not last then return i end
    i = find(s, '[\128-\255]', last + 1)
  end
end

-- State of one encode call; encode is not re-entered (metatables are never called). `quoted` holds texts that were written
-- before, because keys are repeated often.
local out, n, bytes, nodes, path, open, quoted, first_member, next_member, options

local function path_text(depth)
  local parts = {'$'}
  for i = 1, depth do
    local key = path[i]
    if type(key) == 'number' then
      parts[#parts + 1] = '[' .. format('%.0f', key - 1) .. ']'
    elseif find(key, '^[%a_][%w_-]*$') then
      parts[#parts + 1] = '.' .. key
    else
      parts[#parts + 1] = '["' .. gsub(sub(key, 1, 64), '[%z\1-\31"\\\127-\255]', '?') .. '"]'
    end
  end
  return sub(concat(parts), 1, 512)
end

local function refuse(message, depth)
  if not checked then return end
  error({message = message, path = path_text(depth)}, 0)
end

local function too_large(depth)
  refuse('larger than ' .. format('%.0f', options.max_bytes) .. ' bytes', depth)
end

local function put(piece)
  bytes = bytes + #piece
  n = n + 1
  out[n] = piece
end

local function html_safe(s)
  s = gsub(s, '[<>&]', {['<'] = '\\u003c', ['>'] = '\\u003e', ['&'] = '\\u0026'})
  s = gsub(s, '\226\128\168', '\\u2028')
  return (gsub(s, '\226\128\169', '\\u2029'))
end

local function quote(s, depth)
  -- Checked first: escaping fifteen megabytes takes half a second.
  if bytes + #s > options.max_bytes then too_large(depth) end
  local text = s
  if find(text, '[%z\1-\31"\\\128-\255]') then
    if invalid_utf8(text) then
      if not options.like_go then refuse('text that is not UTF-8', depth) end
      text = gsub(text, '[\128-\255]', '\239\191\189')
    end
    text = gsub(text, '["\\%z\1-\31]', ESCAPED)
  end
  if options.like_go then text = html_safe(text) end
  text = '"' .. text .. '"'
  if #s <= 64 then quoted[s] = text end
  return text
end

local function number_text(number, noted)
  if noted and noted[1] == number then return noted[2] end
  if number ~= number or number == huge or number == -huge then return nil end
  return (number >= WIDE or number <= -WIDE) and wide[number] or canonical(number)
end

local function put_number(number, noted, depth)
  local text = number_text(number, noted) or not checked and 'NaN'
  if not text then
    refuse('number that JSON cannot express (' .. (number ~= number and 'NaN' or 'infinity') .. ')', depth)
  end
  put(text)
end

local put_value

-- An array's length: keys must be 1..n, all numbers.
local function array_length(value, depth)
  local count, top = 0, 0
  for key in next, value do
    if type(key) ~= 'number' then
      refuse('table with mixed keys (' .. type(key) .. ' beside number)', depth)
    end
    if key ~= floor(key) or key < 1 then refuse('array with the index ' .. format('%.14g', key), depth) end
    count = count + 1
    if key > top then top = key end
  end
  if top ~= count then refuse('sparse array: ' .. count .. ' elements, but index ' .. format('%.0f', top), depth) end
  return count
end

-- The keys and their number; no keys if the table is an array with that many elements.
local function layout(value, depth)
  if type((next(value))) == 'number' then return nil, array_length(value, depth) end
  local known, keys, count = first_member, {}, 0
  for key in next, value do
    if not known[key] and type(key) ~= 'string' then
      refuse('table with mixed keys (' .. type(key) .. ' beside string)', depth)
    end
    count = count + 1
    keys[count] = key
  end
  return keys, count
end

local function same_elements(value, record, count)
  if count ~= record.count then return false end
  for i = 1, count do
    if not rawequal(rawget(value, i), record.elements[i]) then return false end
  end
  return true
end

local function put_array(value, count, record, depth)
  local literals = record and record.literals
  local nulls = record and record.nulls
  local size = count
  if nulls then
    if same_elements(value, record, count) then size = record.size else nulls = nil end
  end
  put('[')
  local taken = 0
  for position = 1, size do
    if position > 1 then put(',') end
    path[depth + 1] = position
    if nulls and nulls[position] then
      put('null')
    else
      taken = taken + 1
      put_value(rawget(value, taken), depth + 1, literals and literals[taken])
    end
  end
  put(']')
end

-- The text of a key with its colon, with or without a comma before it.
local function member(key, depth)
  local text = (quoted[key] or quote(key, depth)) .. ':'
  if #key <= 64 then first_member[key], next_member[key] = text, ',' .. text end
  return text
end

local function add_null_keys(value, keys, count, null_keys)
  for key in next, null_keys do
    if rawget(value, key) == nil then
      count = count + 1
      keys[count] = key
    end
  end
  return count
end

local function put_object(value, keys, count, record, depth)
  if record and record.null_keys then count = add_null_keys(value, keys, count, record.null_keys) end
  if count > 1 then sort(keys) end
  local literals = record and record.literals
  local plain = getmetatable(value) == nil
  put('{')
  depth = depth + 1
  local names, texts = first_member, quoted
  for i = 1, count do
    local key = keys[i]
    path[depth] = key
    local piece = names[key] or (i == 1 and member(key, depth) or ',' .. member(key, depth))
    names = next_member
    local inner
    if plain then inner = value[key] else inner = rawget(value, key) end
    local text = inner ~= nil and texts[inner]
    if not text and type(inner) == 'string' then text = quote(inner, depth) end
    if text then
      -- A text after its key: the usual case, without calls.
      nodes = nodes + 1
      bytes = bytes + #piece + #text
      out[n + 1], out[n + 2] = piece, text
      n = n + 2
    else
      put(piece)
      put_value(inner, depth, literals and literals[key])
    end
  end
  put('}')
end

local function put_table(value, depth)
  if depth >= options.max_depth then refuse('nested deeper than ' .. options.max_depth, depth) end
  if open[value] then refuse('table that contains itself', depth) end
  local noted = shape[value]
  local record = type(noted) == 'table' and noted or nil
  local kind = record and record.kind or noted
  local keys, count = layout(value, depth)
  open[value] = true
  if count == 0 and not (record and (record.null_keys or record.nulls)) then
    local list = kind == ARRAY or not kind and not options.like_go and empty_lists[path[depth]]
    put(list and '[]' or kind == OBJECT and '{}' or options.empty)
  elseif keys == nil or (count == 0 and kind == ARRAY) then
    put_array(value, count, kind == ARRAY and record or nil, depth)
  else
    put_object(value, keys, count, kind == OBJECT and record or nil, depth)
  end
  open[value] = nil
  if bytes > options.max_bytes then too_large(depth) end
end

function put_value(value, depth, noted)
  nodes = nodes + 1
  if nodes > options.max_nodes then refuse('more than ' .. format('%.0f', options.max_nodes) .. ' values', depth) end
  local kind = type(value)
  if kind == 'string' then
    put(quoted[value] or quote(value, depth))
  elseif kind == 'table' then
    put_table(value, depth)
  elseif kind == 'number' then
    put_number(value, noted, depth)
  elseif kind == 'boolean' then
    put(value and 'true' or 'false')
  elseif value == nil or rawequal(value, null) then
    put('null')
  else
    refuse('a ' .. kind .. ' cannot be written as JSON', depth)
  end
end

-- options: max_depth, max_nodes, max_bytes, empty (text of a table that is empty and new), like_go.
local function encode(value, how)
  options, out, n, bytes, nodes, path, open = how, {}, 0, 0, 0, {}, {}
  quoted, first_member, next_member = {}, {}, {}
  put_value(value, 0)
  local result = concat(out)
  out, path, open, quoted, first_member, next_member = nil, nil, nil, nil, nil, nil
  return result
end

local function mark(value, kind)
  shape[value] = kind
  return value
end

local copy

-- What is known about a table, for its copy: `copies` are the copies of its parts, by part.
local function copied_record(record, copies)
  if type(record) ~= 'table' or not record.elements then return record end
  local result, elements = {}, {}
  for name, fact in next, record do result[name] = fact end
  for i = 1, record.count do
    local part = record.elements[i]
    elements[i] = copies[part] or part
  end
  result.elements = elements
  return result
end

-- A deep copy; what is known about each table is known about its copy, so it is written like the table. No metatable is copied.
function copy(value, depth)
  if type(value) ~= 'table' then return value end
  if depth >= COPIED then error('table that contains itself, or is nested deeper than ' .. COPIED, 0) end
  local result, copies = {}, {}
  for key, inner in next, value do
    local part = copy(inner, depth + 1)
    result[key] = part
    if part ~= inner then copies[inner] = part end
  end
  shape[result] = copied_record(shape[value], copies)
  return result
end

return encode, mark, null, copy
