-- Copies and comparisons of tables, and lists whose items have names.

local tables = {}

---A deep copy of a value. It is written like the value: an empty list stays a list, nulls in lists stay.
---@param value any
---@return any
function tables.copy(value)
    if type(value) ~= "table" then
        return value
    end
    if json and json.copy then -- a debugger's Lua has none
        return (json.copy(value))
    end
    local result = {}
    for key, inner in next, value do
        result[key] = tables.copy(inner)
    end
    return result
end

---Whether two values are deeply equal.
---@param a any
---@param b any
---@return boolean
function tables.same(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    end
    for key, value in next, a do
        if not tables.same(value, b[key]) then
            return false
        end
    end
    for key in next, b do
        if a[key] == nil then
            return false
        end
    end
    return true
end

---Whether a list has a value that is equal to this one.
---@param list any[]
---@param value any
---@return boolean
function tables.contains(list, value)
    for _, known in ipairs(list) do
        if tables.same(known, value) then
            return true
        end
    end
    return false
end

---Replaces the item with the same name, or appends the item. Upper and lower case make no difference.
---@param list table[] items with a name, or names
---@param item table|string
function tables.put(list, item)
    local function name_of(element)
        return (type(element) == "table" and element.name or element):lower()
    end
    local place = #list + 1
    for index, known in ipairs(list) do
        place = name_of(known) == name_of(item) and index or place
    end
    list[place] = item
end

---Adds a name to a list that does not have it yet. Upper and lower case make no difference.
---@param list string[]
---@param name string
function tables.put_once(list, name)
    for _, known in ipairs(list) do
        if known:lower() == name:lower() then
            return
        end
    end
    table.insert(list, name)
end

---Adds a value to a list that does not have it yet.
---@param list any[]
---@param value any
function tables.add(list, value)
    if not tables.contains(list, value) then
        table.insert(list, value)
    end
end

return tables
