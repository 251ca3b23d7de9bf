-- Paths of other Services that win over the stable Service's paths, because they are more specific. If a gateway evaluates
-- conditions before paths and hosts, an Ingress with conditions would take their requests; so it repeats these paths.
--@use tables

local other_paths = {}

local function service_of(path)
    return path.backend and path.backend.service and path.backend.service.name
end

local function bare(path)
    return ((path.path or "/"):gsub("/+$", ""))
end

-- Whether every request for the one path also matches the other.
local function covers(outer, inner)
    local start, text = bare(outer), bare(inner)
    if outer.pathType == "Exact" then
        return false
    end
    return text:sub(1, #start + 1) == start .. "/" or (start == text and inner.pathType == "Exact")
end

-- Whether another's path is more specific than a rule's; or, if its host is more specific, whether they share requests.
local function wins(path, outer, other_host)
    return covers(outer, path) or (other_host and (covers(path, outer) or bare(path) == bare(outer)))
end

-- Whether a rule for one host also gets requests of the other host: the same host, every host, or *.example.com.
local function has_host(rule, host)
    local own = rule.host or ""
    return own == "" or own == host or (own:sub(1, 2) == "*." and (host or ""):sub(1 - #own) == own:sub(2))
end

local function wins_over_any(rules, host, path)
    for _, rule in ipairs(rules) do
        for _, outer in ipairs(has_host(rule, host) and rule.http.paths or {}) do
            if wins(path, outer, rule.host ~= host) then
                return true
            end
        end
    end
    return false
end

local function more_specific(one, other)
    local first, second = bare(one), bare(other)
    if (one.pathType == "Exact") ~= (other.pathType == "Exact") then
        return one.pathType == "Exact"
    elseif #first ~= #second then
        return #first > #second
    end
    return first < second
end

-- Adds a path to the rule for a host, which may be a new one.
local function add_path(rules, host, path)
    for _, rule in ipairs(rules) do
        if rule.host == host then
            table.insert(rule.http.paths, path)
            table.sort(rule.http.paths, more_specific)
            return
        end
    end
    table.insert(rules, 1, {host = host, http = {paths = {path}}})
end

---Adds those paths to an Ingress beside the owner's, with their own backends.
---@param obj moonshift.IngressObj
---@param ingress table
function other_paths.keep(obj, ingress)
    local rules, added = ingress.spec.rules or {}, true
    local others = {}
    for _, rule in ipairs(obj.data.spec.rules or {}) do
        for _, path in ipairs(rule.http and rule.http.paths or {}) do
            if service_of(path) ~= obj.stableService then
                table.insert(others, {host = rule.host, path = path})
            end
        end
    end
    -- An added path may win over further paths.
    while added do
        added = false
        for index = #others, 1, -1 do
            if wins_over_any(rules, others[index].host, others[index].path) then
                add_path(rules, others[index].host, tables.copy(others[index].path))
                table.remove(others, index)
                added = true
            end
        end
    end
end

return other_paths
