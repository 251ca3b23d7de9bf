-- For gateways in which the most specific rule wins, not the first: other rules keep their requests.
--
-- A copy of a rule may win over a rule that won over the copied rule. Such a rule gets a guard: a copy of itself with the
-- conditions of the first copy in addition to its own, and with its own backends. So of several rules of the stable Service
-- a request's copy is that of the rule which serves the request today, with its filters.
--@use tables, shadows

local precedence = {}

local MAX_GUARDS = 128

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

-- A match before the rule with this number, made from one of the rule's matches.
local function made_match(kind, index, base, match, replaces)
    local result = known_match(kind, index, match, true, replaces)
    result.base, result.base_rank = base, kind.rank(base)
    result.moved = not tables.same(result.place, kind.path_of(base))
    return result
end

-- Whether a match wins over the copied match as the owner wrote the two.
local function came_before(known, made)
    local first = higher(known.rank, made.base_rank)
    if first == nil then
        return known.index < made.index
    end
    return first
end

-- Whether one match wins over the other; `even` if they are equal and the kind has no order for equal matches.
local function wins(kind, one, other, even)
    local first = higher(one.rank, other.rank)
    if first ~= nil then
        return first
    elseif kind.unordered or (kind.unique and tables.same(one.match, other.match)) then
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
        if one.index == new.index and not one.idle and (not one.replaces or rawequal(one.base, new.base))
            and within(one.match, new.match)
            and (wins(kind, one, made, false) or tables.same(one.match, new.match)) then
            return true
        end
    end
    return false
end

-- The guard that a rule needs against a copy, or nil. Matches of one rule matter only if the rule's rewrite depends on them.
local function guard_for(kind, other, made)
    local meets = not made.idle and not rawequal(other.match, made.base) and (other.index ~= made.index or other.replaces)
        and came_before(other, made) and wins(kind, made, other, true)
    local match = meets and kind.joined(other, made)
    if not match then
        return nil
    end
    local guard = made_match(kind, other.index, other.match, match, other.replaces)
    -- A copy without any remaining requests has no effect.
    guard.ours = other.ours
    made.idle = tables.same(guard.place, made.place) and kind.size(match) == kind.size(made.match)
    return (other.ours or not tables.same(match, other.match)) and guard or nil
end

-- The matches of all rules, and of the copies of the stable Service's rules that the step asks for.
local function known_and_made(kind, rules, wanted)
    local known, made = {}, {}
    for index, rule in ipairs(rules) do
        local ours, replaces = kind.is_ours(rule), kind.replaces_prefix(rule)
        for _, source in ipairs(kind.matches_of(rule)) do
            table.insert(known, known_match(kind, index, source, ours, replaces))
        end
    end
    for _, alternative in ipairs(wanted) do
        for _, one in ipairs(known) do
            local match = one.ours and kind.combined(rules[one.index], one.match, alternative)
            if match then
                table.insert(made, made_match(kind, one.index, one.match, match, one.replaces))
            end
        end
    end
    return known, made
end

-- The sort and the length of a path, which decide before anything else.
local function path_rank(one)
    return one.rank[1] .. " " .. one.rank[2]
end

-- Adds the guards to a list of copies. A guard may win over further rules, so this repeats until no guard is missing.
local function add_guards(kind, list, known)
    local at, copies, by_path = 1, #list, {}
    for _, one in ipairs(known) do
        local key = path_rank(one)
        by_path[key] = by_path[key] or {}
        table.insert(by_path[key], one)
    end
    while list[at] do
        local made = list[at]
        -- Rules with other paths win or lose as before, unless the copy has another path than the rule.
        for _, other in ipairs(made.moved and known or by_path[path_rank(made)]) do
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

-- Leaves out the copies of which another rule has all requests, because it wins over them as it won over their sources.
local function leave_out_taken(step, kind, rules, list, known)
    for _, made in ipairs(kind.shadows and list or {}) do
        for _, other in ipairs(known) do
            if not made.idle and other.index ~= made.index and wins(kind, other, made, false)
                and shadows.covers(kind.shadows, other.match, made.match) then
                shadows.remember(step, kind.shadows, other.index, rules[other.index])
                made.idle = true
            end
        end
    end
end

-- The matches of copies and guards that stand before the rule with a number, and the rule's match from which each was made.
local function before(step, list, index)
    local matches, bases = {}, {}
    for _, made in ipairs(list) do
        if made.index == index and not made.idle and not tables.contains(matches, made.match) then
            table.insert(matches, made.match)
            table.insert(bases, made.base)
            step.done = step.done or made.ours
        end
    end
    return matches, bases
end

-- What is left of a rule beside its copies, for kinds in which no match may be there twice: the rule, a copy with fewer
-- matches, or nil if its copies have all of its requests.
local function left_over(kind, rule, matches)
    local rest, sources = {}, kind.matches_of(rule)
    for _, source in ipairs(kind.unique and sources or {}) do
        if not tables.contains(matches, source) then
            table.insert(rest, source)
        end
    end
    if not kind.unique or #rest == #sources then
        return rule
    end
    return #rest > 0 and kind.with_matches(rule, rest) or nil
end

---The rules, with copies of the stable Service's rules before them, and with guards before other rules.
---@param step moonshift.Step
---@param kind moonshift.Precedence which match wins, and how a rule is copied
---@param rules table[]
---@param wanted moonshift.Alternative[]
---@return table[]
function precedence.with_copies(step, kind, rules, wanted)
    local known, made = known_and_made(kind, rules, wanted)
    leave_out_taken(step, kind, rules, made, known)
    add_guards(kind, made, known)
    local result = {}
    for index, rule in ipairs(rules) do
        local matches, bases = before(step, made, index)
        for _, twin in ipairs(#matches > 0 and kind.copies(rule, matches, bases) or {}) do
            table.insert(result, twin)
        end
        table.insert(result, left_over(kind, rule, matches))
    end
    if #made > 0 and not step.done then
        shadows.check(step)
        error("all requests that match this step are those of rules that lead elsewhere than to Service " .. step.stable)
    end
    return result
end

return precedence
