--@name Gateway API UDPRoute
--@can weight,subpercent
--@announce
--
-- Divides the stable Service's own share among the backends. Of UDP nothing can be matched, and what is open stays where it is.
--
-- obj.params.scale: multiply the weights of divided rules by this much, as Kong needs (100).

local KIND, MAX_WEIGHT = "UDPRoute", 1000000

-- shared: step
local stable, canary = obj.stableService, obj.canaryService
local namespace = obj.object and obj.object.namespace
local params = obj.params or {}
local modifier = obj.requestHeaderModifier
local spec = obj.data.spec or {}
-- Whether some rule points at the stable Service, and whether the step could be carried out on one.
local found, done = false, false
-- end
-- shared: separate
if stable == canary then
    error("no " .. KIND .. " can tell revisions of one Service apart: the new one needs a Service of its own")
end
-- end
-- shared: copy
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
-- end
-- shared: namespace
-- A reference without a namespace means the object's own.
local function here(other)
    return other == nil or other == "" or namespace == nil or other == namespace
end
-- end
-- shared: refs
-- Backends of other kinds, of other groups or in other namespaces are not the Service.
local function is_service(ref)
    return (ref.kind == nil or ref.kind == "Service") and (ref.group == nil or ref.group == "" or ref.group == "core")
        and here(ref.namespace)
end
-- end
-- shared: named
local function points_at_stable(entry)
    return is_service(entry) and entry.name == stable
end

local function canary_entry(entry)
    local result = copy(entry)
    result.name, result.weight = canary, nil
    return result
end

local function address(entry)
    return is_service(entry) and entry.name .. ":" .. tostring(entry.port)
end
-- end
-- shared: layer4
local function modify_entry()
    error("no " .. KIND .. " can change headers for one revision")
end

local function match_all()
    error("no " .. KIND .. " can match headers, query parameters, cookies, methods or paths: use traffic instead")
end
-- end
-- shared: weights
-- Whole numbers with the sum `total`, as near to its parts as can be; what is more than nothing has at least one.
local function largest_remainder(parts, total)
    local result, left, least = {}, total, total >= #parts and 1 or 0
    for index, part in ipairs(parts) do
        result[index] = math.max(math.floor(part * total + 1e-9), part > 1e-9 and least or 0)
        left = left - result[index]
    end
    while left ~= 0 do
        local at, step = 1, left > 0 and 1 or -1
        for index, part in ipairs(parts) do
            local short = step > 0 and part * total - result[index] > parts[at] * total - result[at] + 1e-9
            at = (short or (step < 0 and result[index] > result[at])) and index or at
        end
        result[at], left = result[at] + step, left - step
    end
    return result
end

local function whole(value)
    return math.abs(value - math.floor(value + 0.5)) < 1e-9
end

-- Whether whole numbers say the step's share of `total` well enough: not wrong by more than half a percent of `sum`, or half
-- a hundredth where parts of a percent are asked for, and not nothing for something.
local function says(scale, total, sum)
    local all = total * scale
    local share = all * obj.canaryWeight / 100
    local rounded = math.floor(share + 0.5)
    local lost = (rounded == 0 and share > 0) or (rounded == all and share < all)
    return not lost and math.abs(share - rounded) * (whole(obj.canaryWeight) and 200 or 20000) <= sum * scale + 1e-9
end

-- What the weights are multiplied by: nothing if possible, else a hundred, or what makes their sum 100 or 10000.
local function scale_for(total, sum)
    local scales = {1, 100}
    if sum < 100 then
        scales = {1, 100, 100 / sum, 10000 / sum}
    end
    if params.scale and sum * params.scale > MAX_WEIGHT + 1e-9 then
        error("with params.scale the weights would be more than " .. MAX_WEIGHT .. ", which no " .. KIND .. " can say")
    end
    for _, scale in ipairs(params.scale and {params.scale} or scales) do
        if params.scale or (sum * scale <= MAX_WEIGHT + 1e-9 and says(scale, total, sum)) then
            return scale
        end
    end
    if not whole(obj.canaryWeight) then
        error("no " .. KIND .. " can say " .. obj.canaryWeight .. " % here: its weights are too small for parts of a percent")
    end
    return 1
end

-- The stable Service's entries by what stands for them in the new revision: a copy, or what is there under its address.
local function groups_of(entries, absent)
    local groups = {}
    for _, entry in ipairs(entries) do
        if points_at_stable(entry) then
            local twin, group = canary_entry(entry), nil
            for _, known in ipairs(groups) do
                group = address(known.twin) == address(twin) and known or group
            end
            if group == nil then
                group = {twin = twin, entry = twin, share = 0, own = 0, stables = {}}
                for _, other in ipairs(entries) do
                    if address(other) == address(twin) then
                        group.entry, group.known, group.own = other, true, other.weight or absent
                    end
                end
                table.insert(groups, group)
            end
            group.share = group.share + (entry.weight or absent)
            table.insert(group.stables, entry)
        end
    end
    return groups
end

-- Divides what the stable Service has among `entries`, of which only `parts` have shares; an entry without a weight has
-- `absent`. The sum stays. At 0 % nothing is added: some gateways drop a route over a backend that is not ready. Others want
-- to get to know a backend before it has a share: obj.announce.
local function split(entries, absent, parts)
    parts = parts or entries
    local groups = groups_of(parts, absent)
    local stable_total, total, sum, declared = 0, 0, 0, false
    for _, group in ipairs(groups) do
        stable_total, total = stable_total + group.share, total + group.share + group.own
        declared = declared or group.known
    end
    for _, entry in ipairs(parts) do
        sum = sum + (entry.weight or absent)
    end
    found, done = found or #groups > 0, done or total > 0
    if total == 0 or (obj.canaryWeight == 0 and not declared and not obj.announce) then
        return
    end
    if sum == total and total < 100 then
        -- Nobody else has a share: percentages are what a reader expects.
        total, sum = 100, 100
    end
    local scale = scale_for(total, sum)
    local holders, portions, ours, left = {}, {}, {}, math.floor(sum * scale + 0.5)
    local function hold(entry, part, percent)
        table.insert(holders, entry)
        table.insert(portions, part * percent / 100)
        ours[entry] = true
    end
    for _, group in ipairs(groups) do
        for _, entry in ipairs(group.stables) do
            -- Where all is declared to be the new revision's already, nothing says how stable was divided.
            local part = stable_total > 0 and (entry.weight or absent) / stable_total or 1 / #group.stables / #groups
            hold(entry, part, obj.stableWeight)
        end
    end
    for _, group in ipairs(groups) do
        hold(group.entry, stable_total > 0 and group.share / stable_total or 1 / #groups, obj.canaryWeight)
    end
    for _, entry in ipairs(parts) do
        if not ours[entry] then
            entry.weight = math.floor((entry.weight or absent) * scale + 0.5)
            left = left - entry.weight
        end
    end
    for index, weight in ipairs(largest_remainder(portions, left)) do
        holders[index].weight = weight
    end
    for _, group in ipairs(groups) do
        if modifier ~= nil then
            modify_entry(group.entry)
        end
        for index = #entries, 1, -1 do
            if not group.known and rawequal(entries[index], group.stables[#group.stables]) then
                table.insert(entries, index + 1, group.entry)
            end
        end
    end
end
-- end

local function split_all()
    for _, rule in ipairs(spec.rules or {}) do
        split(rule.backendRefs or {}, 1)
    end
end

-- shared: run
local function finish(problem)
    if not found then
        error("no rule of this " .. KIND .. " points at Service " .. stable)
    elseif not done then
        error(problem .. " Service " .. stable)
    end
end

local matching = obj.matches ~= nil and #obj.matches > 0
if matching then
    match_all(obj.matches)
    finish("the matches of this step contradict the conditions of every rule that points at")
end
-- Matches win over a weight; params.both asks for the two at once.
if obj.canaryWeight >= 0 and (not matching or params.both) then
    found, done = false, false
    split_all()
    finish("nothing has a weight above 0 in the rules that point at")
end
return obj.data
-- end
