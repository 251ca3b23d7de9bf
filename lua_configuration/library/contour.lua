-- The conditions of Contour's routes: their meaning, and which of two routes wins. The most specific route wins, whatever the
-- order.
--@use tables, conditions, paths

local contour = {}

local PATH_KEYS = {Exact = "exact", Text = "prefix", RegularExpression = "regex"}
local FIELDS = {"header", "queryParameter"}
local CLASSES = {Text = 0, RegularExpression = 1, Exact = 2}
local TYPES = {
    exact = "1", notexact = "1", regex = "2", prefix = "3", suffix = "4", contains = "5", notcontains = "5", present = "6",
    notpresent = "6",
}

local function path_of(list)
    local result
    for _, condition in ipairs(list) do
        result = (condition.exact or condition.prefix or condition.regex) and condition or result
    end
    return paths.of(result or {}, PATH_KEYS, "Text")
end

---The conditions with another path in place of their own; a path that is the same stays where it is. The path is the last of
---them: Contour takes an exact path that is not the last condition for a prefix.
---@param list table[]
---@param path {type: string, value: string}
---@return table[]
function contour.with_path(list, path)
    local result = {}
    if tables.same(path_of(list), path) then
        return tables.copy(list)
    end
    for _, condition in ipairs(tables.copy(list)) do
        condition.prefix, condition.exact, condition.regex = nil, nil, nil
        if next(condition) ~= nil then
            table.insert(result, condition)
        end
    end
    table.insert(result, {[PATH_KEYS[path.type]] = path.value})
    return result
end

-- Adds a condition as the last one, or before an exact path, which stays the last (see `with_path`).
local function insert(list, condition)
    table.insert(list, list[#list] and list[#list].exact and #list or #list + 1, condition)
end

---Adds a condition; false if it can never hold together with the others.
---@param list table[]
---@param condition moonshift.Condition
---@return boolean
function contour.add(list, condition)
    condition = conditions.cookie_as_header(condition)
    local field, name, value = condition.what == "query" and "queryParameter" or "header", condition.name, condition.value
    for _, known in ipairs(list) do
        local other = known[field]
        if other and other.name:lower() == name:lower() then
            local part = other.notcontains
            if conditions.excluded({all = other.notpresent, value = other.notexact}, condition)
                or (part and not condition.regex and value:find(part, 1, true)) then
                return false
            end
            if condition.regex and other.regex == value then
                return true
            elseif not condition.regex and other.exact then
                return other.exact == value
            end
        end
    end
    insert(list, {[field] = {name = name, [condition.regex and "regex" or "exact"] = value}})
    return true
end

-- A condition as routes with equal numbers of conditions compare it: by name, sort and value, plain before negated.
local function text_of(named)
    for kind, order in pairs(TYPES) do
        local value = named[kind]
        if value ~= nil and value ~= false then
            return table.concat({named.name, order, tostring(value), kind:find("^not") and "1" or "0"}, "\1")
        end
    end
    return named.name
end

-- The criteria between two routes that match one request, in this order.
local function rank(list)
    local path, texts = path_of(list), {header = {}, queryParameter = {}}
    for _, condition in ipairs(list) do
        for field, found in pairs(texts) do
            if condition[field] then
                table.insert(found, text_of(condition[field]))
            end
        end
    end
    table.sort(texts.header)
    return {
        CLASSES[path.type], #path.value, #texts.header, #texts.queryParameter,
        table.concat(texts.header, "\2") .. "\3" .. table.concat(texts.queryParameter, "\2"),
    }
end

-- Whether two conditions on one header or parameter can never hold together.
local function excludes(a, b)
    if a == nil or b == nil or a.name:lower() ~= b.name:lower() or a.ignoreCase or b.ignoreCase then
        return false
    end
    local missing = (a.notpresent and not b.notpresent and b) or (b.notpresent and not a.notpresent and a)
    return (a.exact and b.exact and a.exact ~= b.exact) or (missing and (missing.exact ~= nil or missing.present)) or false
end

-- The conditions of a route with a copy's path and conditions in addition; nil if the two can never hold together.
local function joined(known, made)
    local path = paths.common(known.place, made.place)
    if path == nil then
        return nil
    end
    local result = contour.with_path(known.match, path)
    for _, condition in ipairs(made.match) do
        for _, own in ipairs(result) do
            for _, field in ipairs(FIELDS) do
                if excludes(condition[field], own[field]) then
                    return nil
                end
            end
        end
        if (condition.header or condition.queryParameter) and not tables.contains(result, condition) then
            insert(result, tables.copy(condition))
        end
    end
    return result
end

---Which of two lists of conditions wins, in the form that `precedence` needs.
---@return moonshift.Precedence
function contour.precedence()
    return {
        path_of = path_of, rank = rank, joined = joined, unique = true, unordered = true,
        size = function(list)
            local found = rank(list)
            return found[3] + found[4]
        end,
    }
end

return contour
