--@name Skipper Ingress
--@can weight
--@use steps, ingresses
--
-- Changed in place: every path that leads to the stable Service gets a second one beside it, and an annotation has the shares
-- of all Services. It holds for the whole Ingress, and a Service that it does not name has nothing where it shares a path
-- with one it names; so shares of the owner's own are kept, and divided. Matches need a RouteGroup.

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

data.annotations = data.annotations or {}
local shares = ingresses.read_json(data.annotations, KEY) or {}
local share, given = shares[stable] or 100, (shares[stable] or 100) + (shares[canary] or 0)
if share > 0 then
    share = given
end
-- Skipper compares the shares of a path with their sum, whatever it is, and reads fractions.
shares[canary] = share * obj.canaryWeight / 100
shares[stable] = share - shares[canary]
data.annotations[KEY] = json.encode(shares)

local function service_of(path)
    return path.backend and path.backend.service or {}
end

local function key_of(path)
    return (path.path or "") .. " " .. (path.pathType or "")
end

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
return data
