--@name Traefik IngressRoute
--@can weight,subpercent,header,header-regex,cookie,query,path,method
--@regex re2
--@use steps, tables, backends, weights, conditions, routes, shadows, paths
--
-- Divides the stable Service's own share of every route, or puts copies of those routes, bound to the step's matches and to
-- the new revision alone, before them. A rule is a text that may contain "or"; its length is its priority unless it has one, so
-- a copy always gets its source's and one more: by length it would win over longer paths of other Services.
--
-- obj.params.scale: multiply the weights of divided routes by this much.
-- obj.params.both: a step's matches and its traffic at once.
-- obj.params.syntax: "v2" where that is the default of the installation; a route's own `syntax` goes first.

local step = steps.of(obj)
local services = backends.of(step, {
    name = "name", port = "port", namespace = "namespace", kinds = {"Service"}, without_weight = 1, most = 1000000000,
    headers = "no IngressRoute can change headers: that takes a Middleware, which a script cannot make",
})

-- Backticks take everything but themselves.
local function literal(text)
    if not text:find("`", 1, true) then
        return "`" .. text .. "`"
    end
    return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

local function call(name, ...)
    local arguments = {}
    for _, text in ipairs({...}) do
        table.insert(arguments, literal(text))
    end
    return name .. "(" .. table.concat(arguments, ", ") .. ")"
end

-- A condition of the step in the rule language of either syntax.
local function term_of(condition, old)
    condition = conditions.cookie_as_header(condition)
    local what, name, value, regex = condition.what, condition.name, condition.value, condition.regex
    if what == "method" then
        return call("Method", value)
    elseif what == "query" and old then
        if regex then
            error("the rule syntax v2 cannot match query parameters by regular expression")
        end
        return call("Query", name .. "=" .. value)
    elseif what == "query" then
        return regex and call("QueryRegexp", name, conditions.whole(condition)) or call("Query", name, value)
    elseif regex then
        -- The expression for a cookie matches the whole header already.
        local pattern = name == "cookie" and value or conditions.whole(condition)
        return call(old and "HeadersRegexp" or "HeaderRegexp", name == "cookie" and "Cookie" or name, pattern)
    end
    return call(old and "Headers" or "Header", name, value)
end

local function path_term(path, old)
    local value = path.value
    if path.type == "Exact" then
        return call("Path", value)
    elseif path.type == "RegularExpression" and not old then
        return call("PathRegexp", conditions.whole({value = value, regex = true}))
    elseif path.type ~= "PathPrefix" then
        error("the rule syntax" .. (old and " v2" or "") .. " cannot match a path by type " .. path.type)
    end
    -- Traefik's prefix is one of letters: /api would take /apiary along.
    local bare = value:gsub("/+$", "")
    if bare == "" then
        return call("PathPrefix", "/")
    end
    return "(" .. call("Path", bare) .. " || " .. call("PathPrefix", bare .. "/") .. ")"
end

-- The rule with every quoted text blanked out, so that operators in it are operators.
local function structure_of(rule)
    local function blank(text)
        return (" "):rep(#text)
    end
    return (rule:gsub("`[^`]*`", blank):gsub('"[^"]*"', blank))
end

local SORTS = {Path = "Exact", PathPrefix = "Text"}

-- The terms of a rule that all have to hold; nil if the rule has others.
local function terms_of(rule)
    local structure, from, result = structure_of(rule), 1, {}
    if structure:find("||", 1, true) or structure:find("!", 1, true) then
        return nil
    end
    while from <= #rule do
        local at = structure:find("&&", from, true) or #rule + 1
        table.insert(result, rule:sub(from, at - 1):match("^%s*(.-)%s*$"))
        from = at + 2
    end
    return result
end

-- The path for which a term asks, or nil.
local function path_of(term)
    local name, text = term:match('^(%w+)%(%s*[`"]([^`"]*)[`"]%s*%)$')
    return SORTS[name] and {type = text:find("[{*]") and "Wildcards" or SORTS[name], value = text} or nil
end

-- Whether a rule can have no request below a path, as far as its terms tell. What is in parentheses tells nothing.
local function is_apart(rule, path)
    for _, term in ipairs(terms_of(rule) or {}) do
        local own = path_of(term)
        if own and paths.apart(own, path) then
            return true
        end
    end
    return false
end

-- Whether a rule excludes one of these terms, as far as its text tells.
local function excludes(rule, terms)
    if structure_of(rule):find("||", 1, true) or structure_of(rule):find("!%s*%(") then
        return false
    end
    for _, term in ipairs(terms) do
        if (" && " .. rule .. " && "):find(" && !" .. term .. " && ", 1, true) then
            return true
        end
    end
    return false
end

-- The rule with a step's conditions in addition; those of alternatives without a path share one.
local function rules_of(route, wanted)
    local old = (route.syntax or step.params.syntax) == "v2"
    local beside, result, source = {}, {}, route.match
    source = structure_of(source):find("||", 1, true) and "(" .. source .. ")" or source
    for _, alternative in ipairs(wanted) do
        local terms = {}
        for _, condition in ipairs(alternative.conditions) do
            table.insert(terms, term_of(condition, old))
        end
        if excludes(route.match, terms) then
            -- No request of the route is one of this alternative.
        elseif alternative.path == nil then
            local text = table.concat(terms, " && ")
            table.insert(beside, #wanted > 1 and #terms > 1 and "(" .. text .. ")" or text)
        elseif is_apart(route.match, alternative.path) then
            step.unserved = alternative.path.value
        else
            table.insert(terms, 1, path_term(alternative.path, old))
            table.insert(result, {match = source .. " && " .. table.concat(terms, " && "), path = alternative.path})
        end
    end
    if #beside > 0 then
        local text = table.concat(beside, " || ")
        table.insert(result, 1, {match = source .. " && " .. (#beside > 1 and "(" .. text .. ")" or text)})
    end
    return result
end

local function is_ours(route) return weights.has_share(step, services, route.services) end

local function priority_of(route)
    return (route.priority or 0) ~= 0 and route.priority or #route.match
end

-- What a copy leaves to routes for others of the same priority: of equal ones, Traefik may ask either first.
local function without_equals(route, priority)
    local result = ""
    for _, other in ipairs(step.spec.routes) do
        if other.match and not is_ours(other) and priority_of(other) == priority then
            if other.syntax ~= route.syntax then
                error("a route for others has the priority of a copy, and another syntax: " .. other.match)
            end
            result = result .. " && !(" .. other.match .. ")"
        end
    end
    return result
end

-- Whether each request of a copy fits a term: the copy has the term, or asks for a path within the term's.
local function has_term(match, asked, term)
    local outer = path_of(term)
    for _, path in ipairs(outer and asked or {}) do
        if paths.inside(path, outer) then
            return true
        end
    end
    return (" && " .. match .. " && "):find(" && " .. term .. " && ", 1, true) ~= nil
end

-- Whether a route for others has all requests of a copy, and at least its priority.
local function is_taken(route, twin, path)
    local asked = {path}
    for _, term in ipairs(terms_of(route.match) or {}) do
        table.insert(asked, path_of(term))
    end
    for number, other in ipairs(step.spec.routes) do
        local terms = other.match and not is_ours(other) and priority_of(other) >= twin.priority and terms_of(other.match)
        local all = terms and #terms > 0
        for _, term in ipairs(terms or {}) do
            all = all and has_term(twin.match, asked, term)
        end
        if all then
            local target = shadows.main_of(other.services).name
            shadows.remember(step, {leads_to = function() return target end}, number, other)
            return true
        end
    end
    return false
end

-- Beyond 2^53 a number plus one may be the number.
local function raised(priority)
    if priority >= 9007199254740992 then
        error("a route's priority is too high for a copy above it: " .. string.format("%.0f", priority))
    end
    return priority + 1
end

local function copies_of(route, wanted)
    local result = {}
    for _, rule in ipairs(rules_of(route, wanted)) do
        if routes.first_time(step, rule.match) then
            local twin = tables.copy(route)
            twin.priority = raised(priority_of(route))
            twin.match = rule.match
            if not is_taken(route, twin, rule.path) then
                twin.match = rule.match .. without_equals(route, twin.priority)
                twin.services = weights.canary_entries(services, route.services)
                table.insert(result, twin)
            end
        end
    end
    return result
end

steps.carry_out(step, {
    match = function()
        if step.modifier ~= nil then
            services.change_headers()
        end
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        step.spec.routes = routes.with_copies(step, step.spec.routes, is_ours, function(route)
            return copies_of(route, wanted)
        end)
    end,
    divide = function() weights.divide_each(step, services, step.spec.routes, "services") end,
})
return obj.data
