--@name Skipper Ingress
--@can weight
--@use steps, tables, named_annotations
--
-- Changed in place: every path that leads to the stable Service gets a second one beside it, and an annotation has the shares
-- of all Services. It holds for the whole Ingress: a Service that it does not name has nothing where it shares a path with
-- one that has a weight, and Services that share a path without any weight have the same. So what each Service has on each
-- path is computed before and after; only the stable Service's may differ. Matches need a RouteGroup.

local KIND, KEY = "Ingress of Skipper", "zalando.org/backend-weights"
local stable, canary, data = obj.stableService, obj.canaryService, obj.data

if obj.matches ~= nil and #obj.matches > 0 then
    error("no " .. KIND .. " can match in place: use a RouteGroup")
elseif obj.requestHeaderModifier ~= nil then
    error("no " .. KIND .. " can change headers for the new version alone")
end
steps.only_whole_percents(steps.of(obj, KIND))
if obj.canaryWeight == 0 then
    return data
end

local function service_of(path)
    return path.backend and path.backend.service or {}
end

local function key_of(path)
    return (path.path or "") .. " " .. (path.pathType or "")
end

-- The Services of each path that has several, by the rule and the text of the path.
local function groups_of(rules)
    local groups, by_key = {}, {}
    for index, rule in ipairs(rules or {}) do
        for _, path in ipairs(rule.http and rule.http.paths or {}) do
            local key, name = index .. " " .. (path.path or ""), service_of(path).name or ""
            if by_key[key] == nil then
                by_key[key] = {}
                table.insert(groups, by_key[key])
            end
            table.insert(by_key[key], name)
        end
    end
    return groups
end

local function has(group, name)
    return tables.contains(group, name)
end

-- What each Service has of a path.
local function parts_of(group, shares)
    local sum, unnamed, parts = 0, 0, {}
    for _, name in ipairs(group) do
        sum, unnamed = sum + (shares[name] or 0), unnamed + (shares[name] == nil and 1 or 0)
    end
    for _, name in ipairs(group) do
        local part = sum > 0 and (shares[name] or 0) / sum
            or unnamed == 0 and 1 / #group or shares[name] == nil and 1 / unnamed or 0
        parts[name] = (parts[name] or 0) + part
    end
    return parts
end

-- Services that divide a path evenly with the stable one, without weights, get one each, and so do those that divide
-- another path with them.
local function with_even_shares(groups, shares)
    local result, again = tables.copy(shares), true
    -- Alone on a path it has all, even with a weight of 0.
    result[stable] = (shares[stable] or 0) + (shares[canary] or 0) > 0 and (shares[stable] or 0) or 100
    while again do
        again = false
        for _, group in ipairs(groups) do
            local ours, weighted = false, false
            for _, name in ipairs(group) do
                ours = ours or (shares[name] == nil and result[name] ~= nil)
                weighted = weighted or (shares[name] or 0) > 0
            end
            for _, name in ipairs(ours and not weighted and group or {}) do
                again = again or result[name] == nil
                result[name] = result[name] or 100
            end
        end
    end
    return result
end

local function nearly(a, b)
    return math.abs((a or 0) - (b or 0)) < 1e-9
end

-- An error if the stable Service has nothing, or if another Service would not have what it had.
local function check(before, after, shares, divided)
    local most, kept = 0, true
    for index, group in ipairs(before) do
        local old, new = parts_of(group, shares), parts_of(after[index], divided)
        local own, now = (old[stable] or 0) + (old[canary] or 0), (new[stable] or 0) + (new[canary] or 0)
        kept = kept and nearly(own, now)
        for name, part in pairs(old) do
            kept = kept and (name == stable or name == canary or nearly(part, new[name]))
        end
        most = math.max(most, has(group, stable) and own or 0)
    end
    if most == 0 then
        error("nothing has a weight above 0 in the paths that point at Service " .. stable)
    elseif not kept then
        error("the shares of an " .. KIND .. " hold for all its paths, and those of Service " .. stable
            .. " differ: give every Service of its paths a weight in " .. KEY)
    end
end

local before = groups_of(data.spec.rules)
local found = false
for _, rule in ipairs(data.spec.rules or {}) do
    local paths, there = {}, {}
    local all = rule.http and rule.http.paths or {}
    for _, path in ipairs(all) do
        there[key_of(path)] = there[key_of(path)] or service_of(path).name == canary
    end
    for _, path in ipairs(all) do
        table.insert(paths, path)
        local ours = service_of(path).name == stable
        found = found or ours
        if ours and not there[key_of(path)] then
            local backend = {service = {name = canary, port = service_of(path).port}}
            table.insert(paths, {path = path.path, pathType = path.pathType, backend = backend})
        end
    end
    if rule.http then
        rule.http.paths = paths
    end
end
if service_of({backend = data.spec.defaultBackend}).name == stable then
    error("the default backend of an " .. KIND .. " has no shares: give Service " .. stable .. " a path")
elseif not found then
    error("no path of this " .. KIND .. " points at Service " .. stable)
end

data.annotations = data.annotations or {}
local shares = named_annotations.read_json(data.annotations, KEY) or {}
local divided = with_even_shares(before, shares)
local share = divided[stable] > 0 and divided[stable] + (divided[canary] or 0) or 0
-- Skipper compares the shares of a path with their sum, whatever it is, and reads fractions.
divided[canary] = share * obj.canaryWeight / 100
divided[stable] = share - divided[canary]
check(before, groups_of(data.spec.rules), shares, divided)
data.annotations[KEY] = json.encode(divided)
return data
