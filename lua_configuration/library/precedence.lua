-- For gateways in which the most specific rule wins, not the first: other rules keep their requests.
--
-- A copy of a rule may win over a rule that won over the copied rule. Such a rule gets a guard: a copy of itself with the
-- conditions of the first copy in addition to its own, and with its own backends.
--@use tables

local precedence = {}

local MAX_GUARDS = 128

-- Whether every path below the one path is also below the other. For expressions, only equality can be recognised.
local function covers(outer, inner)
    local start = outer.value:gsub("/$", "")
    if (outer.type == inner.type and outer.value == inner.value) or (outer.type == "PathPrefix" and start == "") then
        return true
    elseif outer.type ~= "PathPrefix" or inner.type == "RegularExpression" then
        return false
    end
    return inner.value == start or inner.value:sub(1, #start + 1) == start .. "/"
end

-- Which of two ranks wins; nil if the order of the rules decides. For texts, the first in the alphabet wins.
local function higher(one, other)
    for at, value in ipairs(one) do
        if value ~= other[at] then
            if type(value) == "string" then
                return value < other[at]
            end
            return value > other[at]
        end
    end
    return nil
end

-- A match of the rule of this number, as the owner wrote it.
local function known_match(kind, index, match, ours, replaces)
    return {
        index = index, match = match, ours = ours, replaces = replaces, rank = kind.rank(match), place = kind.path_of(match),
    }
end

-- A match before the rule with this number, made from one of the rule's matches, with the step's path if it has one.
local function made_match(kind, index, base, match, path)
    local result = known_match(kind, index, match, true)
    result.path, result.base_rank = path, kind.rank(base)
    result.asked_rank = path and kind.rank(kind.with_path(base, path)) or result.base_rank
    return result
end

-- Whether a match won over the copied match, for another reason than a path that the step's path replaces.
local function came_before(known, made)
    local one, other = known.rank, made.base_rank
    local first = higher(one, other)
    if first == nil then
        first = known.index < made.index
    end
    return (first and one[1] == other[1] and one[2] == other[2]) or higher(one, made.asked_rank) == true
end

-- Whether one match wins over the other; `even` if they are equal and the kind has no order for equal matches.
local function wins(kind, one, other, even)
    local first = higher(one.rank, other.rank)
    if first ~= nil then
        return first
    elseif kind.unordered then
        return even
    end
    return one.index < other.index
end

-- Whether one match includes every condition of the other.
local function within(part, all)
    if type(part) ~= "table" or type(all) ~= "table" then
        return part == all
    end
    for key, value in next, part do
        local there = #part == 0 and within(value, all[key])
        if not there and not (#part > 0 and tables.contains(all, value)) then
            return false
        end
    end
    return true
end

-- Whether a copy of the same rule wins already by itself.
local function is_settled(kind, list, new, made)
    for _, one in ipairs(list) do
        if one.index == new.index and not one.idle and within(one.match, new.match)
            and (wins(kind, one, made, false) or tables.same(one.match, new.match)) then
            return true
        end
    end
    return false
end

-- The guard that a rule needs against a copy, or nil.
local function guard_for(kind, other, made)
    local meets = not made.idle and other.index ~= made.index
        and came_before(other, made) and wins(kind, made, other, true) and covers(other.place, made.place)
    local match = meets and kind.joined(other, made)
    if not match then
        return nil
    end
    local guard = made_match(kind, other.index, other.match, match, made.path)
    -- A copy without any remaining requests has no effect.
    guard.ours, made.idle = other.ours, kind.size(match) == kind.size(made.match)
    return (other.ours or not tables.same(match, other.match)) and guard or nil
end

-- The matches of all rules, and of the copies of the stable Service's rules that the step asks for.
local function known_and_made(step, kind, rules, wanted)
    local known, made = {}, {}
    for index, rule in ipairs(rules) do
        local ours, sources = kind.is_ours(rule), kind.matches_of(rule)
        step.found = step.found or ours
        for _, source in ipairs(sources) do
            table.insert(known, known_match(kind, index, source, ours, kind.replaces_prefix(rule)))
        end
        for _, alternative in ipairs(ours and wanted or {}) do
            for _, source in ipairs(sources) do
                for _, match in ipairs(kind.combined(rule, source, alternative)) do
                    table.insert(made, made_match(kind, index, source, match, alternative.path))
                end
            end
        end
    end
    return known, made
end

-- Adds the guards to a list of copies. A guard may win over further rules, so this repeats until no guard is missing.
local function add_guards(kind, list, known)
    local at, copies, by_place = 1, #list, {}
    for _, one in ipairs(known) do
        local place = one.place.type .. one.place.value
        by_place[place] = by_place[place] or {}
        table.insert(by_place[place], one)
    end
    while list[at] do
        local made = list[at]
        -- Rules with other paths win or lose as before, unless the step has a path of its own.
        for _, other in ipairs(made.path and known or by_place[made.place.type .. made.place.value]) do
            local guard = guard_for(kind, other, made)
            if guard and not is_settled(kind, list, guard, made) then
                table.insert(list, guard)
            end
        end
        at = at + 1
        if #list - copies > MAX_GUARDS then
            error("more than " .. MAX_GUARDS .. " matches would be needed to leave other rules their requests: "
                .. "fewer matches in one step")
        end
    end
end

-- The matches of copies and guards that stand before the rule with a number.
local function before(step, list, index)
    local result = {}
    for _, made in ipairs(list) do
        if made.index == index and not made.idle then
            table.insert(result, made.match)
            step.done = step.done or made.ours
        end
    end
    return result
end

---The rules, with copies of the stable Service's rules before them, and with guards before other rules.
---@param step moonshift.Step
---@param kind moonshift.Precedence which match wins, and how a rule is copied
---@param rules table[]
---@param wanted moonshift.Alternative[]
---@return table[]
function precedence.with_copies(step, kind, rules, wanted)
    local known, made = known_and_made(step, kind, rules, wanted)
    add_guards(kind, made, known)
    local result = {}
    for index, rule in ipairs(rules) do
        local matches = before(step, made, index)
        for _, twin in ipairs(#matches > 0 and kind.copies(rule, matches) or {}) do
            table.insert(result, twin)
        end
        table.insert(result, rule)
    end
    if #made > 0 and not step.done then
        error("all requests that match this step are those of rules that lead elsewhere than to Service " .. step.stable)
    end
    return result
end

return precedence
