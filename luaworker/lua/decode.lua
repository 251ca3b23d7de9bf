-- Decodes JSON without loss, for scripts that do not know about that.
--
-- A script gets plain Lua tables: arrays are 1..n, a null is absent. Facts that plain tables cannot express are kept beside
-- them in `shape`, keyed by the table itself, so that they survive moving a table: whether an empty table was [] or {}, the
-- places of nulls, and the spelling of numbers. The encoder uses such a fact only if it still fits the table's content.
--
-- Invariant: everything used here is a local captured when the state was built; a script that replaces `string.find`
-- changes nothing here. Failures are raised as tables {message=}.
--
-- Returns: decode(text, max_depth, without_control, null), shape, wide, canonical(number), empty_lists.

local byte, char, find, format, sub = string.byte, string.char, string.find, string.format, string.sub
local concat = table.concat
local error, setmetatable, tonumber, type = error, setmetatable, tonumber, type
local floor, huge = math.floor, math.huge

local ARRAY, OBJECT = 'array', 'object'
-- table → ARRAY | OBJECT | {kind=, size=, nulls=, elements=, count=, literals=, null_keys=}
local shape = setmetatable({}, {__mode = 'k'})
-- An integer beyond 2^53 that a script copies elsewhere: its digits, or false if two texts have the same double.
local wide = {}
local WIDE = 9007199254740992
-- Keys whose empty values were all [] (true), or not all (false). A script that copies tables by itself makes empty tables of
-- which nothing is known; such a table gets the form that its key has elsewhere.
local empty_lists = {}

-- The text of a number whose spelling is not known: whole numbers in digits, others as short as possible without loss.
local function canonical(number)
  if number == floor(number) and number < 1e21 and number > -1e21 then
    return format('%.0f', number)
  end
  for digits = 15, 16 do
    local text = format('%.' .. digits .. 'g', number)
    if tonumber(text) == number then
      return text
    end
  end
  return format('%.17g', number)
end

-- `escape` is the position of the next backslash (or beyond the end). In a `clean` text, without any control character,
-- a string ends at the next quote if no backslash stands before it, so no pattern has to examine every byte.
local text, max_depth, clean, escape, kept_null

local function where(message, position)
  local line, start = 1, 1
  while true do
    local newline = find(text, '\n', start, true)
    if not newline or newline >= position then break end
    line, start = line + 1, newline + 1
  end
  error({message = message .. ' at line ' .. line .. ' column ' .. (position - start + 1)}, 0)
end

local function skip(position)
  local b = byte(text, position)
  if b == 32 or b == 10 or b == 13 or b == 9 then
    local _, last = find(text, '^[ \n\r\t]+', position)
    return last + 1, byte(text, last + 1)
  end
  return position, b
end

local UNESCAPED = {['"'] = '"', ['\\'] = '\\', ['/'] = '/', b = '\b', f = '\f', n = '\n', r = '\r', t = '\t'}

local function utf8_of(code)
  if code < 0x80 then return char(code) end
  if code < 0x800 then return char(0xC0 + floor(code / 64), 0x80 + code % 64) end
  if code < 0x10000 then
    return char(0xE0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
  end
  return char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
end

local function unescape(position)
  local letter = sub(text, position, position)
  local plain = UNESCAPED[letter]
  if plain then return plain, position + 1 end
  if letter ~= 'u' then where('invalid escape', position) end
  local _, _, digits = find(text, '^(%x%x%x%x)', position + 1)
  if not digits then where('invalid \\u escape', position) end
  local code, after = tonumber(digits, 16), position + 5
  if code >= 0xD800 and code <= 0xDBFF then
    local _, _, low = find(text, '^\\u([dD][c-fC-F]%x%x)', after)
    if low then
      return utf8_of(0x10000 + (code - 0xD800) * 1024 + tonumber(low, 16) - 0xDC00), after + 6
    end
  end
  if code >= 0xD800 and code <= 0xDFFF then code = 0xFFFD end  -- half a pair stands for no character
  return utf8_of(code), after
end

local function long_string(position)
  local parts, n, start = {}, 0, position
  while true do
    local _, last = find(text, '^[^"\\%z\1-\31]*', position)
    n = n + 1
    parts[n] = sub(text, position, last)
    local stop = byte(text, last + 1)
    if stop == 34 then return concat(parts), last + 2 end
    if stop ~= 92 then where(stop and 'control character in string' or 'unfinished string', start) end
    n = n + 1
    parts[n], position = unescape(last + 2)
  end
end

-- `position` is after the opening quote.
local function decode_string(position)
  if clean then
    local quote = find(text, '"', position, true)
    if quote and quote < escape then return sub(text, position, quote - 1), quote + 1 end
    local value
    value, position = long_string(position)
    escape = find(text, '\\', position, true) or huge
    return value, position
  end
  local _, last = find(text, '^[^"\\%z\1-\31]*"', position)
  if last then return sub(text, position, last - 1), last + 1 end
  return long_string(position)
end

-- Returns the number, the position after it and, if the canonical text differs, the literal.
local function decode_number(position)
  local _, last = find(text, '^-?%d+', position)
  if not last then where('invalid value', position) end
  local first = byte(text, position) == 45 and position + 1 or position
  if byte(text, first) == 48 and last > first then where('number with a leading zero', position) end
  local after = byte(text, last + 1)
  if after ~= 46 and after ~= 101 and after ~= 69 and last - first < 15 then
    return tonumber(sub(text, position, last)), last + 1
  end
  if after == 46 then
    local _, fraction = find(text, '^%d+', last + 2)
    if not fraction then where('number without digits after the point', position) end
    last, after = fraction, byte(text, fraction + 1)
  end
  if after == 101 or after == 69 then
    local _, exponent = find(text, '^[+-]?%d+', last + 2)
    if not exponent then where('number without exponent', position) end
    last = exponent
  end
  local literal = sub(text, position, last)
  local number = tonumber(literal)
  if number == huge or number == -huge then
    where('number too large', position)
  end
  if canonical(number) == literal then return number, last + 1 end
  if number >= WIDE or number <= -WIDE then
    local known = wide[number]
    if known == nil then wide[number] = literal elseif known ~= literal then wide[number] = false end
  end
  return number, last + 1, literal
end

local decode_value

local function record_of(container, kind)
  local record = shape[container]
  if record == kind then
    record = {kind = kind}
    shape[container] = record
  end
  return record
end

local function note_literal(container, kind, key, number, literal)
  local record = record_of(container, kind)
  record.literals = record.literals or {}
  record.literals[key] = {number, literal}
end

local function note_nulls(array, size, nulls, n)
  local record = record_of(array, ARRAY)
  local elements = {}
  for i = 1, n do elements[i] = array[i] end
  record.size, record.nulls, record.elements, record.count = size, nulls, elements, n
end

local function decode_array(position, depth, key)
  local array, n, seen, nulls = {}, 0, 0, nil
  shape[array] = ARRAY
  local b
  position, b = skip(position)
  if b == 93 then
    if key and empty_lists[key] == nil then empty_lists[key] = true end
    return array, position + 1
  end
  while true do
    local value, literal
    value, position, literal = decode_value(position, depth)
    seen = seen + 1
    if value == nil then
      nulls = nulls or {}
      nulls[seen] = true
    else
      n = n + 1
      array[n] = value
      if literal then note_literal(array, ARRAY, n, value, literal) end
    end
    b = byte(text, position)
    if b ~= 44 and b ~= 93 then position, b = skip(position) end
    if b == 93 then break end
    if b ~= 44 then where("expected ',' or ']'", position) end
    position = skip(position + 1)
  end
  if nulls then note_nulls(array, seen, nulls, n) end
  return array, position + 1
end

local function note_null_key(object, key)
  local record = record_of(object, OBJECT)
  record.null_keys = record.null_keys or {}
  record.null_keys[key] = true
end

local function decode_object(position, depth, named)
  local object = {}
  shape[object] = OBJECT
  local b
  position, b = skip(position)
  if b == 125 then
    if named then empty_lists[named] = false end
    return object, position + 1
  end
  while true do
    if b ~= 34 then where('expected a key', position) end
    local key, value, literal
    key, position = decode_string(position + 1)
    b = byte(text, position)
    if b ~= 58 then position, b = skip(position) end
    if b ~= 58 then where("expected ':'", position) end
    position, b = skip(position + 1)
    if b == 34 then
      value, position = decode_string(position + 1)
    else
      value, position, literal = decode_value(position, depth, key)
    end
    object[key] = value
    if value == nil then
      note_null_key(object, key)
    elseif literal then
      note_literal(object, OBJECT, key, value, literal)
    end
    b = byte(text, position)
    if b ~= 44 and b ~= 125 then position, b = skip(position) end
    if b == 125 then return object, position + 1 end
    if b ~= 44 then where("expected ',' or '}'", position) end
    position, b = skip(position + 1)
  end
end

-- A null is nil, or the value that the caller wants for it. `position` is at the first byte of the value, `key` is its key if it is a member of an object.
function decode_value(position, depth, key)
  local b = byte(text, position)
  if b == 34 then return decode_string(position + 1) end
  if b == 123 or b == 91 then
    if depth >= max_depth then where('nested deeper than ' .. max_depth, position) end
    if b == 123 then return decode_object(position + 1, depth + 1, key) end
    return decode_array(position + 1, depth + 1, key)
  end
  if b == 116 and sub(text, position, position + 3) == 'true' then return true, position + 4 end
  if b == 102 and sub(text, position, position + 4) == 'false' then return false, position + 5 end
  if b == 110 and sub(text, position, position + 3) == 'null' then return kept_null, position + 4 end
  return decode_number(position)
end

-- `without_control`: the caller guarantees that no byte of the text is a control character. `null`: the value of a null in the
-- text; without it a null is absent.
local function decode(source, depth, without_control, null)
  text, max_depth, clean, kept_null = source, depth, without_control, null
  escape = clean and find(source, '\\', 1, true) or huge
  local position = skip(1)
  local value
  value, position = decode_value(position, 0)
  position = skip(position)
  if position <= #text then where('unexpected text after the value', position) end
  text = nil
  return value
end

return decode, shape, wide, canonical, empty_lists
