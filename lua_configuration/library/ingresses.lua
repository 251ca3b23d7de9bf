-- Ingress classes: annotations of a canary Ingress, and additional Ingresses beside the owner's.
--@use tables, paths

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

-- The path of an entry. What ImplementationSpecific means is the gateway's: letters, a * at the end, or an expression.
local function path_of(entry)
    local path = entry.path or "/"
    if entry.pathType == "Exact" then
        return {type = "Exact", value = path}
    elseif entry.pathType == "Prefix" then
        return {type = "PathPrefix", value = path}
    elseif path:find("^[^%[%]%(%)%*%+%?%^%$\\{}|]*%*?$") then
        return {type = "Text", value = path:gsub("%*$", "")}
    end
    return {type = "RegularExpression", value = path:gsub("^/~", "")}
end

-- Whether another entry of the host serves what an entry and a step's path have in common, as it is more specific.
local function goes_elsewhere(entry, common, all)
    local own = path_of(entry)
    for _, other in ipairs(all) do
        local place = path_of(other)
        if not tables.same(place, own) and paths.inside(place, own) and paths.inside(common, place) then
            return true, other
        end
    end
    return false
end

---A copy of an entry of an Ingress's paths for what it has in common with a step's path; nil if that is nothing, or if a
---more specific entry of the host serves it.
---@param step moonshift.Step|{unserved?: string}
---@param kind string
---@param entry table
---@param path? {type: string, value: string} the step's
---@param all table[] all entries of the host
---@return table?
---@return table? other the more specific entry
function ingresses.narrowed(step, kind, entry, path, all)
    local result, own = tables.copy(entry), path_of(entry)
    if path == nil then
        return result
    end
    path = {type = path.type or "PathPrefix", value = path.value or "/"}
    if PATH_TYPES[path.type] == nil then
        error("no " .. kind .. " can match paths by type " .. path.type)
    end
    local common = paths.served(step, own, path)
    if common == nil then
        return nil
    end
    local elsewhere, other = goes_elsewhere(entry, common, all)
    if elsewhere then
        step.unserved = path.value
        return nil, other
    elseif not tables.same(common, own) then
        result.path, result.pathType = common.value, PATH_TYPES[common.type]
    end
    return result
end

-- All entries that the owner's Ingress has for a host.
local function entries_of(obj, host)
    local result = {}
    for _, rule in ipairs(obj.data.spec and obj.data.spec.rules or {}) do
        if (rule.host or "") == (host or "") then
            for _, entry in ipairs(rule.http and rule.http.paths or {}) do
                table.insert(result, entry)
            end
        end
    end
    return result
end

-- Sees to annotations that let the upstream's path depend on the Ingress's, now that entries have a part of their paths.
local function keep_paths(annotations, rewrites, only_roots)
    for key, for_roots in pairs(rewrites or {}) do
        if (annotations[key] or "false") ~= "false" then
            if not (only_roots and for_roots) then
                error("the Ingress rewrites its paths (" .. key .. "), so no part of them can be matched: give the step "
                    .. "the Ingress's own path, or none")
            end
            annotations[key] = for_roots
        end
    end
end

-- An error if only the path of a match tells its requests from the owner's, and the owner's Ingress has the same path: of two
-- Ingresses with one host and path the gateway uses the older one.
local function check_told_apart(kind, match, entry, twin)
    local told = match.method or #(match.headers or {}) + #(match.queryParams or {}) > 0
    if not told and tables.same(twin, entry) then
        error("the Ingress itself has the path " .. (entry.path or "/") .. " of this step, and no " .. kind
            .. " sends requests to a second Ingress of the same host and path: give the step a header as well, or a path "
            .. "below this one")
    end
end

-- Leaves the rules of an additional Ingress what they have in common with a step's path.
local function narrow(obj, kind, result, match, rewrites)
    local rules, changed, only_roots = {}, false, true
    for _, rule in ipairs(result.spec.rules) do
        local entries = {}
        for _, entry in ipairs(rule.http.paths) do
            local twin = ingresses.narrowed({}, kind, entry, match.path, entries_of(obj, rule.host))
            if twin then
                check_told_apart(kind, match, entry, twin)
                changed = changed or not tables.same(twin, entry)
                only_roots = only_roots and (entry.path or "/") == "/" and entry.pathType ~= "Exact"
                tables.add(entries, twin)
            end
        end
        if #entries > 0 then
            rule.http.paths = entries
            table.insert(rules, rule)
        end
    end
    if changed then
        keep_paths(result.metadata.annotations, rewrites, only_roots)
    end
    result.spec.rules, result.spec.defaultBackend = rules, nil
end

---An additional Ingress for one alternative of the step: the first is called <name>-canary, the next
---<name>-canary-1. Its paths are what the alternative's path and the Ingress's own have in common; nil if that is nothing.
---@param obj moonshift.IngressObj
---@param kind string
---@param number integer
---@param match? moonshift.Match
---@param rewrites? table<string, string|false> annotations that let the upstream's path depend on the Ingress's, each with the
---  value that leaves paths as they are where the Ingress's own path is /, or false
---@return table?
function ingresses.beside(obj, kind, number, match, rewrites)
    if obj.canaryIngress == nil then
        error("no path of this Ingress leads to Service " .. obj.stableService .. ": give it one")
    end
    local result = tables.copy(obj.canaryIngress)
    if number > 1 then
        result.metadata.name = result.metadata.name .. "-" .. (number - 1)
    end
    result.metadata.annotations = result.metadata.annotations or {}
    if match == nil or match.path == nil then
        return result
    elseif result.spec.rules == nil then
        error("a path cannot take the place of a default backend: give Service " .. obj.stableService .. " a path")
    end
    narrow(obj, kind, result, match, rewrites)
    return #result.spec.rules > 0 and result or nil
end

---An error if no additional Ingress could be made for any alternative of the step.
---@param obj moonshift.IngressObj
---@param kind string
---@param objects table[]
function ingresses.check_served(obj, kind, objects)
    if #objects == 0 then
        local asked = {}
        for _, match in ipairs(obj.matches or {}) do
            tables.add(asked, match.path and match.path.value)
        end
        error("no path of this " .. kind .. " that leads to Service " .. obj.stableService .. " serves the path "
            .. table.concat(asked, " or ") .. " of this step")
    end
end

return ingresses
