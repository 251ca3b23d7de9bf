-- Shares as whole numbers: what the stable Service has in a list is divided between it and the new version.
--@use tables

local weights = {}

local function whole(value)
    return math.abs(value - math.floor(value + 0.5)) < 1e-9
end

---Whole numbers with the sum `total`, as near to its parts as can be; what is more than nothing has at least one.
---@param parts number[] shares of 1
---@param total number
---@return number[]
function weights.largest_remainder(parts, total)
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

-- Whether whole numbers say the step's share of `total` well enough: not wrong by more than half a percent of `sum`, or half
-- a hundredth where parts of a percent are asked for, and not nothing for something.
local function says(step, scale, total, sum)
    local all = total * scale
    local share = all * step.weight / 100
    local rounded = math.floor(share + 0.5)
    local lost = (rounded == 0 and share > 0) or (rounded == all and share < all)
    return not lost and math.abs(share - rounded) * (whole(step.weight) and 200 or 20000) <= sum * scale + 1e-9
end

-- What the weights are multiplied by: nothing if possible, else a hundred, or what makes their sum 100 or 10000.
local function scale_for(step, most, total, sum)
    local scales, asked = {1, 100}, step.params.scale
    if sum < 100 then
        scales = {1, 100, 100 / sum, 10000 / sum}
    end
    if asked and sum * asked > most + 1e-9 then
        error("with params.scale the weights would be more than " .. most .. ", which no " .. step.kind .. " can say")
    end
    for _, scale in ipairs(asked and {asked} or scales) do
        if asked or (sum * scale <= most + 1e-9 and says(step, scale, total, sum)) then
            return scale
        end
    end
    if not whole(step.weight) then
        error("no " .. step.kind .. " can say " .. step.weight .. " % here: its weights are too small for parts of a percent")
    end
    return 1
end

-- The stable Service's entries by what stands for them in the new version: a copy, or what is there under its address.
local function groups_of(services, entries, absent)
    local groups = {}
    for _, entry in ipairs(entries) do
        if services.is_stable(entry) then
            local twin, group = services.canary(entry), nil
            local address = services.address(twin)
            for _, known in ipairs(groups) do
                group = known.address == address and known or group
            end
            if group == nil then
                group = {twin = twin, address = address, entry = twin, share = 0, own = 0, stables = {}}
                for _, other in ipairs(entries) do
                    if services.address(other) == address then
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

-- Who gets which part: first the stable Service's entries, then the new version's.
local function portions_of(step, groups, absent, stable_total)
    local holders, portions, ours = {}, {}, {}
    local function hold(entry, part, percent)
        table.insert(holders, entry)
        table.insert(portions, part * percent / 100)
        ours[entry] = true
    end
    for _, group in ipairs(groups) do
        for _, entry in ipairs(group.stables) do
            -- Where all is declared to be the new version's already, nothing says how stable was divided.
            local part = stable_total > 0 and (entry.weight or absent) / stable_total or 1 / #group.stables / #groups
            hold(entry, part, 100 - step.weight)
        end
    end
    for _, group in ipairs(groups) do
        hold(group.entry, stable_total > 0 and group.share / stable_total or 1 / #groups, step.weight)
    end
    return holders, portions, ours
end

local function insert_new(entries, groups)
    for _, group in ipairs(groups) do
        for index = #entries, 1, -1 do
            if not group.known and rawequal(entries[index], group.stables[#group.stables]) then
                table.insert(entries, index + 1, group.entry)
            end
        end
    end
end

---Divides what the stable Service has in a list of backends. The sum stays. At 0 % nothing is added: some gateways drop a
---route over a backend that is not ready. Others want to get to know a backend before it has a share (`obj.announce`).
---@param step moonshift.Step
---@param services moonshift.Backends
---@param entries table[] changed in place
---@param parts? table[] the entries that have shares, where others of the list have none
---@return boolean added whether the list has more entries now
function weights.divide(step, services, entries, parts)
    parts = parts or entries
    local absent = services.without_weight
    absent = type(absent) == "function" and absent(parts) or absent
    local groups = groups_of(services, parts, absent)
    local stable_total, total, sum, declared = 0, 0, 0, false
    for _, group in ipairs(groups) do
        stable_total, total = stable_total + group.share, total + group.share + group.own
        declared = declared or group.known
    end
    for _, entry in ipairs(parts) do
        sum = sum + (entry.weight or absent)
    end
    step.found, step.done = step.found or #groups > 0, step.done or total > 0
    if total == 0 or (step.weight == 0 and not declared and not step.obj.announce) then
        return false
    end
    if sum == total and total < 100 then
        -- Nobody else has a share: percentages are what a reader expects.
        total, sum = 100, 100
    end
    local scale = scale_for(step, services.most, total, sum)
    local holders, portions, ours = portions_of(step, groups, absent, stable_total)
    local left = math.floor(sum * scale + 0.5)
    for _, entry in ipairs(parts) do
        if not ours[entry] then
            entry.weight = math.floor((entry.weight or absent) * scale + 0.5)
            left = left - entry.weight
        end
    end
    for index, weight in ipairs(weights.largest_remainder(portions, left)) do
        holders[index].weight = weight
    end
    local before = #entries
    for _, group in ipairs(groups) do
        if step.modifier ~= nil then
            services.change_headers(group.entry, step.modifier)
        end
    end
    insert_new(entries, groups)
    return #entries > before
end

---Whether an entry of a list leads to the stable Service.
---@param services moonshift.Backends
---@param entries table[]?
---@return boolean
function weights.has_stable(services, entries)
    for _, entry in ipairs(entries or {}) do
        if services.is_stable(entry) then
            return true
        end
    end
    return false
end

---What a rule for the new version alone leads to: its entries for those of the stable Service. Other Services have no part in
---it. One entry has no weight; of several, each has what the stable Service's had there.
---@param services moonshift.Backends
---@param entries table[]
---@return table[]
function weights.canary_entries(services, entries)
    local result, groups = {}, groups_of(services, entries, 1)
    for _, group in ipairs(groups) do
        group.twin.weight = #groups > 1 and group.share or nil
        table.insert(result, group.twin)
    end
    return result
end

return weights
