--@name Emissary Mapping
--@can weight,header,header-regex,cookie,query,path,method,header-modifier
--
-- The Mapping itself stays as it is. Mappings that match alike share requests, so a second one with a weight has a share; one
-- with more conditions, and without a weight, comes first. Each alternative of a step is a Mapping of its own.
-- Matches win over a share; expressions match the whole value (RE2).
--
-- obj.params.both: a step's matches and its traffic at once.

local KIND = "Mapping"
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
-- shared: separate
if stable == canary then
    error("no " .. KIND .. " can tell revisions of one Service apart: the new one needs a Service of its own")
end
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

-- [scheme://]service[.namespace][:port]
local function parts_of(address)
    local scheme, rest = tostring(address or ""):match("^(%w+://)(.*)$")
    rest = rest or tostring(address or "")
    local host, port = rest:match("^(.-)(:%d+)$")
    host = host or rest
    local name, domain = host:match("^([^.]*)(.*)$")
    return scheme or "", name, domain, port or ""
end

local function is_stable()
    local _, name, domain = parts_of(spec.service)
    local owner = domain:match("^%.([^.]+)")
    return name == stable and (owner == nil or namespace == nil or owner == namespace)
end

if not is_stable() then
    error("this Mapping does not point at Service " .. stable .. ", but at " .. tostring(spec.service))
elseif spec.weight ~= nil then
    error("the Mapping has a weight of its own: it shares requests with others already, and cannot be divided")
end

local objects = {}
-- A copy of the Mapping that leads to the new version.
local function sibling()
    local twin = copy(spec)
    local scheme, _, domain, port = parts_of(spec.service)
    twin.service = scheme .. canary .. domain .. port
    for _, item in ipairs((modifier or {}).set or {}) do
        twin.add_request_headers = twin.add_request_headers or {}
        twin.add_request_headers[item.name] = {value = item.value, append = false}
    end
    for _, item in ipairs((modifier or {}).add or {}) do
        twin.add_request_headers = twin.add_request_headers or {}
        twin.add_request_headers[item.name] = {value = item.value, append = true}
    end
    for _, name in ipairs((modifier or {}).remove or {}) do
        twin.remove_request_headers = type(twin.remove_request_headers) == "string" and {twin.remove_request_headers}
            or twin.remove_request_headers or {}
        table.insert(twin.remove_request_headers, name)
    end
    local name = obj.object.name .. "-canary" .. (#objects > 0 and "-" .. #objects or "")
    table.insert(objects, {
        apiVersion = obj.object.apiVersion, kind = obj.object.kind,
        metadata = {name = name, labels = copy(obj.data.labels), annotations = nil}, spec = twin,
    })
    return twin
end

local FIELDS = {
    header = {[false] = "headers", [true] = "regex_headers"},
    query = {[false] = "query_parameters", [true] = "regex_query_parameters"},
}

local function add(twin, condition)
    local what, name, value, regex = condition.what, condition.name, condition.value, condition.regex
    if what == "method" then
        if twin.method_regex or (twin.method and twin.method ~= value) then
            error("the Mapping already matches a method")
        end
        twin.method = value
        return
    elseif what == "cookie" then
        what, name, value, regex = "header", "cookie", cookie_pattern(condition), true
    end
    for _, field in pairs(FIELDS[what]) do
        for known, text in pairs(twin[field] or {}) do
            local alike = known == name or (what == "header" and known:lower() == name:lower())
            if alike and not (text == value and field == FIELDS[what][regex]) then
                error("the Mapping already matches " .. what .. " " .. name)
            end
        end
    end
    local field = FIELDS[what][regex]
    twin[field] = twin[field] or {}
    twin[field][name] = value
end

local function set_path(twin, path)
    twin.prefix, twin.prefix_exact, twin.prefix_regex = path.value, nil, nil
    twin.prefix_exact = path.type == "Exact" or nil
    twin.prefix_regex = path.type == "RegularExpression" or nil
end

local matching = obj.matches ~= nil and #obj.matches > 0
for _, one in ipairs(matching and wanted_of(obj.matches) or {}) do
    local twin = sibling()
    for _, condition in ipairs(one.conditions) do
        add(twin, condition)
    end
    if one.path then
        set_path(twin, one.path)
    end
end
if obj.canaryWeight > 0 and (not matching or params.both) then
    if obj.canaryWeight ~= math.floor(obj.canaryWeight) then
        error("no Mapping can say " .. obj.canaryWeight .. " %: its weight is a whole number")
    end
    sibling().weight = obj.canaryWeight
end
obj.data.objects = objects
return obj.data
