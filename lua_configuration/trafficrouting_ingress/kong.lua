--@name Kong Ingress
--@can header,header-regex,cookie,method,path
--@use conditions, ingresses, ingress_classes, other_paths
--
-- An Ingress of its own for each alternative of a step, with headers and methods that hold together: a route with more
-- conditions comes first, also before longer paths, so longer paths of other Services stand in it as well. It has no shares;
-- an HTTPRoute of Kong's has. An expression is searched for, so it is bound to the whole value.

local KIND, PREFIX = "Ingress of Kong", "konghq.com/"
local REWRITES = {[PREFIX .. "strip-path"] = "false", [PREFIX .. "rewrite"] = false}
ingress_classes.check(obj, "Kong", {"kong"})

if obj.matches == nil or #obj.matches == 0 then
    error("no " .. KIND .. " can divide requests by weight: a step needs matches, or an HTTPRoute")
elseif obj.requestHeaderModifier ~= nil then
    error("no " .. KIND .. " can change headers without a plugin")
end

local function put(annotations, name, value)
    local key = PREFIX .. "headers." .. name
    if annotations[key] ~= nil and annotations[key] ~= value then
        error("the Ingress already matches header " .. name)
    end
    annotations[key] = value
end

local function put_header(annotations, header)
    if header.name == "canary-by-cookie" then
        local name, value = conditions.cookie(header.value)
        put(annotations, "cookie", "~*" .. conditions.cookie_pattern({name = name, value = value}, true))
    elseif header.type == "RegularExpression" then
        put(annotations, header.name, "~*^(?:" .. header.value .. ")$")
    elseif header.value:find(",", 1, true) then
        -- A comma parts values that are alternatives.
        put(annotations, header.name, "~*^" .. conditions.escape(header.value) .. "$")
    else
        put(annotations, header.name, header.value)
    end
end

-- An Ingress for one alternative; nil where the Ingress does not serve its path.
local function matching(number, match)
    if #(match.queryParams or {}) > 0 then
        error("no " .. KIND .. " can match query parameters")
    end
    local result = ingresses.beside(obj, KIND, number, match, REWRITES)
    if result == nil then
        return nil
    end
    -- Of all default backends Kong uses the one of the oldest Ingress.
    if result.spec.rules == nil then
        error("no " .. KIND .. " can match for a default backend: give Service " .. obj.stableService .. " a path")
    end
    result.spec.defaultBackend = nil
    other_paths.keep(obj, result)
    for _, header in ipairs(match.headers or {}) do
        put_header(result.metadata.annotations, header)
    end
    if match.method then
        local key = PREFIX .. "methods"
        local own = result.metadata.annotations[key]
        if own ~= nil and not ("," .. own:gsub("%s", "") .. ","):find("," .. match.method .. ",", 1, true) then
            error("the Ingress already matches methods " .. own)
        end
        result.metadata.annotations[key] = match.method
    end
    return result
end

local objects = {}
for number, match in ipairs(obj.matches) do
    table.insert(objects, matching(number, match))
end
ingresses.check_served(obj, KIND, objects)
return {objects = objects}
