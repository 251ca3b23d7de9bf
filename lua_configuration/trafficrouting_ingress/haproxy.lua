--@name HAProxy Ingress
--@can header,header-regex,cookie,path
--
-- An Ingress of its own for each alternative of a step, with headers that hold together (version 0.15 and later). It has no
-- shares: its blue-green-balance goes by labels of pods, not by Services. An expression is searched for, so it is bound to
-- the whole value.

local KIND, PREFIX = "Ingress of HAProxy", "haproxy-ingress.github.io/"

-- shared: siblings
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

local PATH_TYPES = {Exact = "Exact", PathPrefix = "Prefix"}

-- A second Ingress for one alternative of the step; the first is called <name>-canary, the next <name>-canary-1.
local function sibling(number, match)
    local result = copy(obj.canaryIngress)
    if number > 1 then
        result.metadata.name = result.metadata.name .. "-" .. (number - 1)
    end
    result.metadata.annotations = result.metadata.annotations or {}
    local path = match and match.path
    if path then
        local kind = PATH_TYPES[path.type or "PathPrefix"]
        if kind == nil then
            error("no " .. KIND .. " can match paths by type " .. path.type)
        end
        for _, rule in ipairs(result.spec.rules or {}) do
            -- The path of the step takes the place of the rule's: once.
            local first = rule.http.paths[1]
            first.path, first.pathType = path.value or "/", kind
            rule.http.paths = {first}
        end
        result.spec.defaultBackend = nil
    end
    return result
end
-- end

if obj.matches == nil or #obj.matches == 0 then
    error("no " .. KIND .. " can divide requests by weight: a step needs matches")
elseif obj.requestHeaderModifier ~= nil then
    error("no " .. KIND .. " can change headers for the new version alone")
end

local function escape(text)
    return (text:gsub("[%^%$%(%)%.%[%]%*%+%?{}|\\]", "\\%0"))
end

local function matching(number, match)
    if match.method or #(match.queryParams or {}) > 0 then
        error("no " .. KIND .. " can match methods or query parameters")
    end
    local exact, regex = {}, {}
    for _, header in ipairs(match.headers or {}) do
        if header.name == "canary-by-cookie" then
            local cookie, wanted = header.value:match("^([^=]+)=(.*)$")
            table.insert(regex, "cookie: (^|;\\s*)" .. escape(cookie or header.value) .. "=" .. escape(wanted or "always") .. "(;|$)")
        elseif header.type == "RegularExpression" then
            table.insert(regex, header.name .. ": ^(?:" .. header.value .. ")$")
        else
            table.insert(exact, header.name .. ": " .. header.value)
        end
    end
    local result = sibling(number, match)
    for key, lines in pairs({["http-header-match"] = exact, ["http-header-match-regex"] = regex}) do
        local own = result.metadata.annotations[PREFIX .. key]
        if own ~= nil then
            table.insert(lines, 1, own)
        end
        if #lines > 0 then
            result.metadata.annotations[PREFIX .. key] = table.concat(lines, "\n")
        end
    end
    return result
end

local objects = {}
for number, match in ipairs(obj.matches) do
    table.insert(objects, matching(number, match))
end
return {objects = objects}
