--@name Higress Ingress
--@can weight,header,header-regex,cookie,query,path,header-modifier
--
-- A share is said by a canary Ingress, as with ingress-nginx. Matches are said by an Ingress of its own for each alternative,
-- with annotations that hold together and a route that comes before the owner's. Matches win over a share.
-- obj.params.both: the share of the rest as well, by one Ingress more.

local KIND = "Ingress of Higress"
local NGINX, HIGRESS = "nginx.ingress.kubernetes.io/", "higress.io/"
local params = obj.params or {}

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

local CANARY = {"canary", "canary-by-cookie", "canary-by-header", "canary-by-header-pattern", "canary-by-header-value",
    "canary-weight", "canary-weight-total"}

local function without_canary(annotations)
    for _, key in ipairs(CANARY) do
        annotations[NGINX .. key], annotations[HIGRESS .. key] = nil, nil
    end
    return annotations
end

local function modify(annotations)
    local modifier = obj.requestHeaderModifier or {}
    for what, items in pairs({update = modifier.set, add = modifier.add}) do
        local lines = {}
        for _, item in ipairs(items or {}) do
            table.insert(lines, item.name .. " " .. item.value)
        end
        if #lines > 0 then
            annotations[HIGRESS .. "request-header-control-" .. what] = table.concat(lines, "\n")
        end
    end
    if #(modifier.remove or {}) > 0 then
        annotations[HIGRESS .. "request-header-control-remove"] = table.concat(modifier.remove, ",")
    end
end

local function escape(text)
    return (text:gsub("[%^%$%(%)%.%[%]%*%+%?{}|\\]", "\\%0"))
end

local function condition(annotations, what, item)
    local kind = item.type == "RegularExpression" and "regex" or "exact"
    local name, value = item.name, item.value
    if what == "header" and name == "canary-by-cookie" then
        local cookie, wanted = value:match("^([^=]+)=(.*)$")
        kind, name = "regex", "cookie"
        value = "(^|.*;\\s*)" .. escape(cookie or item.value) .. "=" .. escape(wanted or "always") .. "(;.*|$)"
    end
    local key = HIGRESS .. kind .. "-match-" .. what .. "-" .. name
    if annotations[key] ~= nil and annotations[key] ~= value then
        error("the Ingress already matches " .. what .. " " .. name)
    end
    annotations[key] = value
end

local function matching(number, match)
    local result = sibling(number, match)
    local annotations = without_canary(result.metadata.annotations)
    for _, header in ipairs(match.headers or {}) do
        condition(annotations, "header", header)
    end
    for _, parameter in ipairs(match.queryParams or {}) do
        condition(annotations, "query", parameter)
    end
    if match.method then
        error("no " .. KIND .. " can match methods")
    end
    modify(annotations)
    return result
end

local function sharing(number)
    if obj.canaryWeight ~= math.floor(obj.canaryWeight) then
        error("no " .. KIND .. " can say " .. obj.weight .. " %: its weight is a whole number")
    end
    local result = sibling(number)
    local annotations = without_canary(result.metadata.annotations)
    annotations[NGINX .. "canary"], annotations[NGINX .. "canary-weight"] = "true", obj.weight
    modify(annotations)
    return result
end

local objects = {}
local wanted = obj.matches or {}
for number, match in ipairs(wanted) do
    table.insert(objects, matching(number, match))
end
if obj.canaryWeight > 0 and (#wanted == 0 or params.both) then
    table.insert(objects, sharing(#objects + 1))
end
return {objects = objects}
