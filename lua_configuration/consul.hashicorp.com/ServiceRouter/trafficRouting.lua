--@name Consul ServiceRouter
--@siblings consul.hashicorp.com/ServiceSplitter
--@can header,header-regex,cookie,query,path,method,header-modifier
--
-- Puts copies of the routes to the stable Service, bound to the step's matches and to the new revision alone, right before
-- them; the route that Consul adds by itself, for all that is left, gets one too. Conditions hold together, so each
-- alternative is a route of its own. A share of the traffic is for the ServiceSplitter of the same name: where one goes
-- along in the release, a step with traffic leaves the routes as they are.
--
-- obj.params.subset: the subset of the new revision where both share one Service ("canary").

local KIND = "ServiceRouter"
local CAN = {header = true, ["header-regex"] = true, cookie = true, query = true, path = true, method = true}

-- shared: step
local stable, canary = obj.stableService, obj.canaryService
local namespace = obj.object and obj.object.namespace
local params = obj.params or {}
local modifier = obj.requestHeaderModifier
local spec = obj.data.spec or {}
-- Whether some rule points at the stable Service, and whether the step could be carried out on one.
local found, done = false, false
-- end
-- shared: copy
local function copy(value)
    if type(value) ~= "table" then
        return value
    end
    local result = {}
    for key, inner in next, value do
        result[key] = copy(inner)
    end
    return result
end
-- end
-- shared: same
local function same(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    end
    for key, value in next, a do
        if not same(value, b[key]) then
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
-- end
-- shared: namespace
-- A reference without a namespace means the object's own.
local function here(other)
    return other == nil or other == "" or namespace == nil or other == namespace
end
-- end
-- shared: consul
local own_name = obj.object and obj.object.name
local subset = params.subset or "canary"

-- Without a name, the Service is the one that the object is named after.
local function points_at_stable(entry)
    local named = (entry.service or own_name) == stable and here(entry.namespace)
    return named and not (stable == canary and entry.serviceSubset == subset)
end

-- Where both revisions share one Service, a subset of a ServiceResolver tells the new one.
local function canary_entry(entry)
    local result = copy(entry)
    result.weight = nil
    if stable == canary then
        result.serviceSubset = subset
    else
        result.service, result.serviceSubset = canary, nil
    end
    return result
end

local function put_headers(holder)
    holder.requestHeaders = holder.requestHeaders or {}
    for _, verb in ipairs({"set", "add"}) do
        for _, header in ipairs(modifier[verb] or {}) do
            holder.requestHeaders[verb] = holder.requestHeaders[verb] or {}
            holder.requestHeaders[verb][header.name] = header.value
        end
    end
    for _, name in ipairs(modifier.remove or {}) do
        local list, there = holder.requestHeaders.remove or {}, false
        for _, known in ipairs(list) do
            there = there or known == name
        end
        if not there then
            table.insert(list, name)
        end
        holder.requestHeaders.remove = list
    end
end

-- The object of a kind that stands for the same Service in the same release.
local function has_sibling(kind)
    for _, other in ipairs(obj.siblings or {}) do
        if other.kind == kind and other.name == own_name then
            return true
        end
    end
    return false
end
-- end
-- shared: conditions
local WORDS = {
    header = "headers", ["header-regex"] = "headers by regular expression", query = "query parameters",
    cookie = "cookies", method = "methods", path = "paths",
}

local function need(word)
    if not CAN[word] then
        error("no " .. KIND .. " can match " .. WORDS[word])
    end
end

local function condition_on(what, item)
    local kind = item.type or "Exact"
    if kind ~= "Exact" and kind ~= "RegularExpression" then
        error("no " .. KIND .. " can match " .. WORDS[what] .. " by type " .. kind)
    end
    local regex = kind == "RegularExpression"
    local name, value = item.name, item.value
    if what == "cookie" then
        -- As with Ingress classes, a name alone stands for the cookie that says "always".
        name, value = value:match("^([^=]+)=(.*)$")
        name, value = name or item.value, value or "always"
    end
    need((what == "header" and regex) and "header-regex" or what)
    return {what = what, name = name, value = value, regex = regex}
end

-- A match of the step: conditions that hold together, and a path or nil.
local function conditions_of(match)
    local result, path = {}, match.path
    for _, header in ipairs(match.headers or {}) do
        table.insert(result, condition_on(header.name == "canary-by-cookie" and "cookie" or "header", header))
    end
    for _, parameter in ipairs(match.queryParams or {}) do
        table.insert(result, condition_on("query", parameter))
    end
    if match.method then
        need("method")
        table.insert(result, {what = "method", value = match.method})
    end
    if path then
        need("path")
        path = {type = path.type or "PathPrefix", value = path.value or "/"}
        if path.type ~= "Exact" and path.type ~= "PathPrefix" and path.type ~= "RegularExpression" then
            error("no " .. KIND .. " can match paths by type " .. path.type)
        end
    elseif #result == 0 then
        error("a match of this step has no condition")
    end
    return result, path
end
-- end
-- shared: wanted
-- All matches of the step.
local function wanted_of(matches)
    local result = {}
    for position, match in ipairs(matches) do
        local conditions, path = conditions_of(match)
        result[position] = {conditions = conditions, path = path}
    end
    return result
end
-- end
-- shared: patterns
local function escape(text)
    return (text:gsub("[%^%$%(%)%.%[%]%*%+%?{}|\\]", "\\%0"))
end

-- A cookie as a pattern for the header that carries all of them.
local function cookie_pattern(condition)
    local value = condition.regex and "(" .. condition.value .. ")" or escape(condition.value)
    return "(^|.*;\\s*)" .. escape(condition.name) .. "=" .. value .. "(;.*|$)"
end
-- end
-- shared: once
local seen = {}

-- What a rule further up was given is not said again.
local function is_first(value)
    for _, known in ipairs(seen) do
        if same(known, value) then
            return false
        end
    end
    table.insert(seen, value)
    return true
end
-- end
-- shared: methods
-- Leaves one method; false where it was not among those that were there.
local function narrow_methods(holder, method)
    local allowed = holder.methods == nil or #holder.methods == 0
    for _, known in ipairs(holder.methods or {}) do
        allowed = allowed or known == method
    end
    holder.methods = {method}
    return allowed
end
-- end
-- shared: copies
-- Puts the copies that the new revision serves right before the rule they come from.
local function insert_copies(rules, is_ours, copies_of)
    local result = {}
    for _, rule in ipairs(rules) do
        if is_ours(rule) then
            found = true
            for _, twin in ipairs(copies_of(rule)) do
                done = true
                table.insert(result, twin)
            end
        end
        table.insert(result, rule)
    end
    return result
end
-- end

local FIELDS = {header = "header", query = "queryParam"}

-- Adds a condition; false where it can never hold together with what is there.
local function add(http, condition)
    local what, name, value, regex = condition.what, condition.name, condition.value, condition.regex
    if what == "method" then
        return narrow_methods(http, value)
    elseif what == "cookie" then
        what, name, value, regex = "header", "cookie", cookie_pattern(condition), true
    end
    local field = FIELDS[what]
    for _, known in ipairs(http[field] or {}) do
        local alike = known.name == name or (what == "header" and known.name:lower() == name:lower())
        if alike and known.exact and not regex and not known.invert then
            return known.exact == value
        end
    end
    http[field] = http[field] or {}
    table.insert(http[field], {name = name, [regex and "regex" or "exact"] = value})
    return true
end

local PATH_KEYS = {Exact = "pathExact", PathPrefix = "pathPrefix", RegularExpression = "pathRegex"}

local function set_path(http, path, destination)
    local key = PATH_KEYS[path.type]
    if key == "pathRegex" and destination.prefixRewrite then
        error("a route that rewrites its prefix cannot match a path by type " .. path.type)
    end
    http.pathExact, http.pathPrefix, http.pathRegex = nil, nil, nil
    http[key] = path.value
end

local function copies_of(route, wanted)
    local result = {}
    for _, one in ipairs(wanted) do
        local twin, possible = copy(route), true
        twin.match = twin.match or {}
        twin.match.http = twin.match.http or {}
        twin.destination = canary_entry(route.destination or {})
        if one.path then
            set_path(twin.match.http, one.path, twin.destination)
        end
        for _, condition in ipairs(one.conditions) do
            possible = possible and add(twin.match.http, condition)
        end
        if possible and is_first(twin.match) then
            if modifier ~= nil then
                put_headers(twin.destination)
            end
            table.insert(result, twin)
        end
    end
    return result
end

local function is_ours(route)
    return points_at_stable(route.destination or {})
end

local function match_all(matches)
    local wanted = wanted_of(matches)
    local routes = insert_copies(spec.routes or {}, is_ours, function(route) return copies_of(route, wanted) end)
    if own_name == stable then
        found = true
        for _, twin in ipairs(copies_of({}, wanted)) do
            done = true
            table.insert(routes, twin)
        end
    end
    spec.routes = routes
end

local function split_all()
    if not has_sibling("ServiceSplitter") then
        error("no ServiceRouter has weights: name the ServiceSplitter of " .. stable .. " in the release as well")
    end
    found, done = true, true
end

-- shared: run
local function finish(problem)
    if not found then
        error("no rule of this " .. KIND .. " points at Service " .. stable)
    elseif not done then
        error(problem .. " Service " .. stable)
    end
end

local matching = obj.matches ~= nil and #obj.matches > 0
if matching then
    match_all(obj.matches)
    finish("the matches of this step contradict the conditions of every rule that points at")
end
-- Matches win over a weight; params.both asks for the two at once.
if obj.canaryWeight >= 0 and (not matching or params.both) then
    found, done = false, false
    split_all()
    finish("nothing has a weight above 0 in the rules that point at")
end
return obj.data
-- end
