-- Ingress classes: annotations of a canary Ingress, and additional Ingresses beside the owner's.
--@use tables

local ingresses = {}

local CANARY = {"", "-by-cookie", "-by-header", "-by-header-pattern", "-by-header-value", "-weight", "-weight-total"}
local PATH_TYPES = {Exact = "Exact", PathPrefix = "Prefix"}

---Removes the annotations with which an owner chooses the new version: the step decides that.
---@param annotations table<string, string>
---@param prefix string
function ingresses.clear_canary(annotations, prefix)
    for _, key in ipairs(CANARY) do
        annotations[prefix .. "canary" .. key] = nil
    end
end

---Annotations of a canary Ingress in the form of ingress-nginx, with the step's share.
---@param obj moonshift.IngressObj
---@param kind string the name of the Ingress in messages
---@param prefix string
---@param headers? boolean the class can change headers
---@return table<string, string>
function ingresses.canary_annotations(obj, kind, prefix, headers)
    local annotations = obj.annotations or {}
    ingresses.clear_canary(annotations, prefix)
    annotations[prefix .. "canary"] = "true"
    if obj.weight ~= "-1" then
        if obj.canaryWeight ~= nil and obj.canaryWeight ~= math.floor(obj.canaryWeight) then
            error("no " .. kind .. " can express " .. obj.weight .. " %: its weight is a whole number")
        end
        annotations[prefix .. "canary-weight"] = obj.weight
    end
    if obj.requestHeaderModifier ~= nil and not headers then
        error("no " .. kind .. " can change headers")
    end
    return annotations
end

---The only header or cookie of a step; an error if there are more conditions.
---@param matches moonshift.Match[]
---@param kind string
---@return moonshift.ValueMatch
function ingresses.one_header(matches, kind)
    if #matches > 1 then
        error("a " .. kind .. " has one condition: " .. #matches .. " alternatives cannot be said")
    end
    local match = matches[1]
    if match.path or match.method or #(match.queryParams or {}) > 0 then
        error("a " .. kind .. " can match a header or a cookie, nothing else")
    end
    local headers = match.headers or {}
    if #headers ~= 1 then
        error("a " .. kind .. " has one condition: " .. #headers .. " headers that hold together cannot be said")
    end
    return headers[1]
end

---The name of a cookie with the values `always` and `never`; an error if a step asks for another value.
---@param header moonshift.ValueMatch
---@param kind string
---@return string
function ingresses.cookie_name(header, kind)
    if header.value:find("=", 1, true) then
        error("a " .. kind .. " knows a cookie by its name alone: its value says always or never")
    end
    return header.value
end

---Adds the annotations for one header or cookie, in the form of ingress-nginx. An expression is written as it is: the
---gateway searches for it in the value, so the author writes ^ and $ to match the whole value.
---@param annotations table<string, string>
---@param kind string
---@param prefix string
---@param header moonshift.ValueMatch
function ingresses.match_header(annotations, kind, prefix, header)
    if header.name == "canary-by-cookie" then
        annotations[prefix .. "canary-by-cookie"] = ingresses.cookie_name(header, kind)
        return
    end
    annotations[prefix .. "canary-by-header"] = header.name
    if header.type == "RegularExpression" then
        annotations[prefix .. "canary-by-header-pattern"] = header.value
    else
        annotations[prefix .. "canary-by-header-value"] = header.value
    end
end

---Adds the annotations that change headers, in the form of MSE and Higress: one header on each line.
---@param annotations table<string, string>
---@param prefix string
---@param modifier? moonshift.HeaderModifier
function ingresses.change_headers(annotations, prefix, modifier)
    modifier = modifier or {}
    for what, items in pairs({update = modifier.set, add = modifier.add}) do
        local lines = {}
        for _, item in ipairs(items) do
            table.insert(lines, item.name .. " " .. item.value)
        end
        if #lines > 0 then
            annotations[prefix .. "request-header-control-" .. what] = table.concat(lines, "\n")
        end
    end
    if #(modifier.remove or {}) > 0 then
        annotations[prefix .. "request-header-control-remove"] = table.concat(modifier.remove, ",")
    end
end

---An additional Ingress for one alternative of the step: the first is called <name>-canary, the next
---<name>-canary-1. A path of the alternative replaces the rules' own paths.
---@param obj moonshift.IngressObj
---@param kind string
---@param number integer
---@param match? moonshift.Match
---@return table
function ingresses.beside(obj, kind, number, match)
    if obj.canaryIngress == nil then
        error("no path of this Ingress leads to Service " .. obj.stableService .. ": give it one")
    end
    local result = tables.copy(obj.canaryIngress)
    if number > 1 then
        result.metadata.name = result.metadata.name .. "-" .. (number - 1)
    end
    result.metadata.annotations = result.metadata.annotations or {}
    local path = match and match.path
    if path then
        local path_type = PATH_TYPES[path.type or "PathPrefix"]
        if path_type == nil then
            error("no " .. kind .. " can match paths by type " .. path.type)
        elseif result.spec.rules == nil then
            error("a path cannot take the place of a default backend: give Service " .. obj.stableService .. " a path")
        end
        for _, rule in ipairs(result.spec.rules) do
            -- Only once, even if the rule has several paths.
            local first = rule.http.paths[1]
            first.path, first.pathType = path.value or "/", path_type
            rule.http.paths = {first}
        end
        result.spec.defaultBackend = nil
    end
    return result
end

return ingresses
