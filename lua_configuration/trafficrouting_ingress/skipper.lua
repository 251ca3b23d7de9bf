--@name Skipper Ingress
--@can weight
--
-- Changed in place: every path that leads to the stable Service gets a second one beside it, and an annotation has the shares
-- of all Services. It holds for the whole Ingress, and a Service that it does not name has nothing where it shares a path
-- with one it names; so shares of the owner's own are kept, and divided. Matches need a RouteGroup.

local KIND, KEY = "Ingress of Skipper", "zalando.org/backend-weights"
local stable, canary = obj.stableService, obj.canaryService
local data = obj.data

if obj.matches ~= nil and #obj.matches > 0 then
    error("no " .. KIND .. " can match in place: use a RouteGroup")
elseif obj.requestHeaderModifier ~= nil then
    error("no " .. KIND .. " can change headers for the new version alone")
elseif stable == canary then
    error("no " .. KIND .. " can tell revisions of one Service apart: the new one needs a Service of its own")
elseif obj.canaryWeight ~= math.floor(obj.canaryWeight) then
    error("no " .. KIND .. " can say " .. obj.weight .. " %: its weight is a whole number")
elseif obj.canaryWeight == 0 then
    return data
end

data.annotations = data.annotations or {}
local weights = {}
if data.annotations[KEY] ~= nil then
    local problem
    weights, problem = json.decode(data.annotations[KEY])
    if weights == nil then
        error("the annotation " .. KEY .. " cannot be read: " .. tostring(problem))
    end
end
local share, given = weights[stable] or 100, (weights[stable] or 100) + (weights[canary] or 0)
if share > 0 then
    share = given
end
weights[canary] = math.floor(share * obj.canaryWeight / 100 + 0.5)
if weights[canary] == 0 and share > 0 then
    weights[canary] = 1
end
weights[stable] = share - weights[canary]
data.annotations[KEY] = json.encode(weights)

local found = false
local function key_of(path)
    return (path.path or "") .. " " .. (path.pathType or "")
end
for _, rule in ipairs(data.spec.rules or {}) do
    local paths, there = {}, {}
    local all = rule.http and rule.http.paths or {}
    for _, path in ipairs(all) do
        local service = path.backend and path.backend.service
        if service and service.name == canary then
            there[key_of(path)] = true
        end
    end
    for _, path in ipairs(all) do
        table.insert(paths, path)
        local service = path.backend and path.backend.service
        if service and service.name == stable then
            found = true
            if not there[key_of(path)] then
                table.insert(paths, {
                    path = path.path, pathType = path.pathType,
                    backend = {service = {name = canary, port = service.port}},
                })
            end
        end
    end
    if rule.http then
        rule.http.paths = paths
    end
end
if not found then
    error("no path of this " .. KIND .. " points at Service " .. stable)
end
return data
