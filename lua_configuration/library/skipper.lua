-- The conditions of Skipper's routes: their meaning, and which of two routes wins. The tree of paths decides first, then the
-- number of conditions; the order of routes has no effect.
--@use tables, conditions, paths

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

-- The path in the tree; names and * in it stand for parts.
local function path_of(match)
    if match.path then
        return {type = match.path:find("[:*]") and "Wildcards" or "Exact", value = match.path}
    end
    return {type = "PathPrefix", value = match.pathSubtree or "/"}
end

local function with_path(match, path)
    local result = tables.copy(match)
    if not tables.same(path_of(match), path) then
        result.path, result.pathSubtree = nil, nil
        result[path.type == "PathPrefix" and "pathSubtree" or "path"] = path.value
    end
    return result
end

-- Adds an expression for the path: it is a condition beside the path in the tree.
local function add_expression(match, text)
    if match.pathRegexp == nil then
        match.pathRegexp = text
    elseif match.pathRegexp ~= text then
        match.predicates = match.predicates or {}
        tables.add(match.predicates, skipper.call("PathRegexp", {text}))
    end
end

---The match with a step's path in addition; nil if no request fits both.
---@param step moonshift.Step
---@param match table
---@param path? {type: string, value: string}
---@return table?
function skipper.narrowed(step, match, path)
    local own, expression = path_of(match), match.pathRegexp
    if path == nil then
        return tables.copy(match)
    elseif path.type == "RegularExpression" and not paths.apart(own, path) then
        local result = tables.copy(match)
        add_expression(result, conditions.whole({value = path.value, regex = true}))
        return result
    elseif expression and expression:sub(1, 1) == "^"
        and paths.apart({type = "RegularExpression", value = expression .. ".*"}, path) then
        step.unserved = path.value
        return nil
    end
    local common = paths.served(step, own, path)
    return common and with_path(match, common)
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
    local path, methods = paths.common(known.place, made.place), {}
    if path == nil then
        return nil
    end
    local result = with_path(known.match, path)
    if made.match.pathRegexp then
        add_expression(result, made.match.pathRegexp)
    end
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

local function size(match)
    return #(match.predicates or {}) + (#(match.methods or {}) > 0 and 1 or 0) + (match.pathRegexp and 1 or 0)
end

-- The tree of paths is asked first, then the number of conditions decides. A route without a path comes after the tree.
local function rank(match)
    local path = path_of(match)
    local tree = (match.path or match.pathSubtree) and #path.value:gsub("/+$", "") + 1 or 0
    return {match.path and 1 or 0, tree, size(match)}
end

---Which of two matches wins, in the form that `precedence` needs. With equal numbers of conditions, either may win.
---@return moonshift.Precedence
function skipper.precedence()
    return {
        path_of = path_of, rank = rank, size = size, joined = joined, unique = true, unordered = true,
    }
end

return skipper
