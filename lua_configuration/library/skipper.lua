-- The conditions of Skipper's routes: their meaning, and which of two routes wins. The tree of paths decides first, then the
-- number of conditions; the order of routes has no effect.
--@use tables, conditions

local skipper = {}

---A predicate or a filter: a name with text arguments.
---@param name string
---@param texts string[]
---@return string
function skipper.call(name, texts)
    local arguments = {}
    for _, text in ipairs(texts) do
        table.insert(arguments, '"' .. text:gsub('[\\"]', "\\%0") .. '"')
    end
    return name .. "(" .. table.concat(arguments, ", ") .. ")"
end

-- Parameters and cookies are matched by expressions only.
local function predicate_of(condition)
    if condition.what == "query" then
        return skipper.call("QueryParam", {condition.name, conditions.whole(condition)})
    elseif condition.what == "cookie" then
        return skipper.call("Cookie", {condition.name, conditions.whole(condition)})
    elseif condition.regex then
        return skipper.call("HeaderRegexp", {condition.name, conditions.whole(condition)})
    end
    return skipper.call("Header", {condition.name, condition.value})
end

-- The conditions of a route.
skipper.FIELDS = {"path", "pathSubtree", "pathRegexp", "predicates", "methods"}

---The conditions of a route, without its backends.
---@param route table
---@return table
function skipper.match_of(route)
    local result = {}
    for _, field in ipairs(skipper.FIELDS) do
        result[field] = tables.copy(route[field])
    end
    return result
end

local function with_path(match, path)
    local result = tables.copy(match)
    result.path, result.pathSubtree, result.pathRegexp = nil, nil, nil
    if path.type == "Exact" then
        result.path = path.value
    elseif path.type == "PathPrefix" then
        result.pathSubtree = path.value
    else
        result.pathRegexp = conditions.whole({value = path.value, regex = true})
    end
    return result
end

---Adds a condition; false if it can never hold together with the others.
---@param match table
---@param condition moonshift.Condition
---@return boolean
function skipper.add(match, condition)
    if condition.what == "method" then
        return conditions.only_method(match, condition.value)
    end
    match.predicates = match.predicates or {}
    tables.add(match.predicates, predicate_of(condition))
    return true
end

-- Whether two predicates compare one header with different texts.
local function excludes(one, other)
    local name, value = one:match('^Header%("(.-)", (.*)%)$')
    local other_name, other_value = other:match('^Header%("(.-)", (.*)%)$')
    return name ~= nil and other_name ~= nil and name:lower() == other_name:lower() and value ~= other_value
end

-- The match of a route with a copy's path and conditions in addition; nil if the two can never hold together.
local function joined(known, made)
    local result, methods = tables.copy(known.match), {}
    result.path, result.pathSubtree = made.match.path, made.match.pathSubtree
    result.pathRegexp = made.match.pathRegexp
    for _, predicate in ipairs(made.match.predicates or {}) do
        for _, own in ipairs(result.predicates or {}) do
            if excludes(predicate, own) then
                return nil
            end
        end
        result.predicates = result.predicates or {}
        tables.add(result.predicates, predicate)
    end
    for _, method in ipairs(made.match.methods or {}) do
        if #(result.methods or {}) == 0 or tables.contains(result.methods, method) then
            table.insert(methods, method)
        end
    end
    if #(made.match.methods or {}) > 0 then
        result.methods = methods
    end
    return (#(made.match.methods or {}) == 0 or #methods > 0) and result or nil
end

local function path_of(match)
    if match.path then
        return {type = "Exact", value = match.path}
    elseif match.pathRegexp then
        return {type = "RegularExpression", value = match.pathRegexp}
    end
    return {type = "PathPrefix", value = match.pathSubtree or "/"}
end

local function size(match)
    return #(match.predicates or {}) + (#(match.methods or {}) > 0 and 1 or 0)
end

-- The tree of paths is asked first, then the number of conditions decides.
local function rank(match)
    local path = path_of(match)
    local tree = path.type == "RegularExpression" and 0 or #(path.value:gsub("/+$", "")) + 1
    return {path.type == "Exact" and 1 or 0, tree, size(match) + (match.pathRegexp and 1 or 0)}
end

---Which of two matches wins, in the form that `precedence` needs. With equal numbers of conditions, either may win.
---@return moonshift.Precedence
function skipper.precedence()
    return {
        path_of = path_of, rank = rank, size = size, joined = joined, with_path = with_path, unordered = true,
    }
end

return skipper
