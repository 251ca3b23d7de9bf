-- Shares as whole numbers: divides the stable Service's weight in a list between it and the new version.
--@use shares

local weights = {}

-- The stable Service's entries, each with the new version's entry: a copy, or the entry that has its address already.
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

-- The parts of the entries: first the stable Service's entries, then the new version's.
local function portions_of(step, groups, absent, stable_total)
    local holders, portions, ours = {}, {}, {}
    local function hold(entry, part, percent)
        table.insert(holders, entry)
        table.insert(portions, part * percent / 100)
        ours[entry] = true
    end
    for _, group in ipairs(groups) do
        for _, entry in ipairs(group.stables) do
            -- If everything is declared to be the new version's, the stable Service's division is not known.
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

---Divides the stable Service's weight in a list of backends. The sum does not change. At 0 % nothing is added: some
---gateways drop a route if a backend is not ready. Other kinds must name a backend before it has a share (`obj.announce`,
---or `exact` in the description).
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
    local exact = services.exact
    if total == 0 or (step.weight == 0 and not declared and not step.obj.announce and not exact) then
        return false
    end
    if sum == total and total < 100 and not exact then
        -- No other Service has a share: readers expect percentages.
        total, sum = 100, 100
    end
    local scale = shares.scale_for(step, services, total, sum)
    local holders, portions, ours = portions_of(step, groups, absent, stable_total)
    local left = math.floor(sum * scale + 0.5)
    for _, entry in ipairs(parts) do
        if not ours[entry] and (entry.weight or not exact) then
            entry.weight = math.floor((entry.weight or absent) * scale + 0.5)
            left = left - entry.weight
        end
    end
    for index, weight in ipairs(shares.largest_remainder(portions, left, exact and 0)) do
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

---Divides the stable Service's weight in every rule of a list.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param rules table[]?
---@param field string the rules' list of backends
function weights.divide_each(step, services, rules, field)
    for _, rule in ipairs(rules or {}) do
        weights.divide(step, services, rule[field] or {})
    end
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

---Whether the stable Service serves requests of a rule today: an entry of the list leads to it, with a weight above 0. Only
---then does a copy of the rule for the new version take no requests of others.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param entries table[]?
---@return boolean
function weights.has_share(step, services, entries)
    local absent = services.without_weight
    absent = type(absent) == "function" and absent(entries or {}) or absent or 1
    local named, result = false, false
    for _, entry in ipairs(entries or {}) do
        if services.is_stable(entry) then
            step.found, named = true, true
            result = result or #entries == 1 and entry.weight == nil or (entry.weight or absent) > 0
        end
    end
    step.without_share = step.without_share or (named and not result)
    return result
end

---The backends of a rule only for the new version: its entries in place of the stable Service's. Other Services get no
---share. If there are several entries, each has the weight of the stable Service's entry.
---@param services moonshift.Backends
---@param entries table[]
---@param alone? number the weight of an entry that is the only one; if it is left out, such an entry has no weight
---@return table[]
function weights.canary_entries(services, entries, alone)
    local result, groups = {}, groups_of(services, entries, 1)
    for _, group in ipairs(groups) do
        group.twin.weight = #groups > 1 and group.share or alone
        table.insert(result, group.twin)
    end
    return result
end

return weights
