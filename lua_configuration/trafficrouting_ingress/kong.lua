--@name Kong Ingress
--@can header,header-regex,cookie,method,path
--
-- An Ingress of its own for each alternative of a step, with headers and methods that hold together: a route with more
-- conditions comes first. It has no shares; an HTTPRoute of Kong's has. An expression is searched for, so it is bound to
-- the whole value.

local KIND, PREFIX = "Ingress of Kong", "konghq.com/"

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
    error("no " .. KIND .. " can divide requests by weight: a step needs matches, or an HTTPRoute")
elseif obj.requestHeaderModifier ~= nil then
    error("no " .. KIND .. " can change headers without a plugin")
end

local function escape(text)
    return (text:gsub("[%^%$%(%)%.%[%]%*%+%?{}|\\]", "\\%0"))
end

local function put(annotations, name, value)
    local key = PREFIX .. "headers." .. name
    if annotations[key] ~= nil and annotations[key] ~= value then
        error("the Ingress already matches header " .. name)
    end
    annotations[key] = value
end

local function matching(number, match)
    if #(match.queryParams or {}) > 0 then
        error("no " .. KIND .. " can match query parameters")
    end
    local result = sibling(number, match)
    local annotations = result.metadata.annotations
    for _, header in ipairs(match.headers or {}) do
        if header.name == "canary-by-cookie" then
            local cookie, wanted = header.value:match("^([^=]+)=(.*)$")
            put(annotations, "cookie", "~*(^|;\\s*)" .. escape(cookie or header.value) .. "=" .. escape(wanted or "always") .. "(;|$)")
        elseif header.type == "RegularExpression" then
            put(annotations, header.name, "~*^(?:" .. header.value .. ")$")
        elseif header.value:find(",", 1, true) then
            -- A comma parts values that are alternatives.
            put(annotations, header.name, "~*^" .. escape(header.value) .. "$")
        else
            put(annotations, header.name, header.value)
        end
    end
    if match.method then
        annotations[PREFIX .. "methods"] = match.method
    end
    return result
end

local objects = {}
for number, match in ipairs(obj.matches) do
    table.insert(objects, matching(number, match))
end
return {objects = objects}
