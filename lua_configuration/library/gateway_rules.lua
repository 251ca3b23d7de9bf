-- HTTPRoute, GRPCRoute and kinds with the same rules: copies of whole rules, with guards, within the limits of a route.
--@use tables, weights, precedence, gateway_api, paths

local gateway_rules = {}

local MAX_RULES, MAX_IN_ALL = 16, 128

-- The changes of paths in the filters of a rule and of its backends that replace the matched prefix.
local function prefix_changes(rule)
    local result, holders = {}, {rule}
    for _, entry in ipairs(rule.backendRefs or {}) do
        table.insert(holders, entry)
    end
    for _, holder in ipairs(holders) do
        for _, filter in ipairs(holder.filters or {}) do
            local change = filter.urlRewrite or filter.requestRedirect
            if change and change.path and change.path.type == "ReplacePrefixMatch" then
                table.insert(result, change)
            end
        end
    end
    return result
end

---Whether a rule has a filter that replaces the matched prefix: such a rule must have exactly one match, by prefix.
---@param rule {filters?: table[]}
---@return boolean
function gateway_rules.replaces_prefix(rule)
    return #prefix_changes(rule) > 0
end

---Lets the filters of a rule replace as much of a path as before, now that the rule matches only a part of its path.
---@param rule {filters?: table[]} changed in place
---@param base table the match as it was
---@param match table
function gateway_rules.keep_paths(rule, base, match)
    local own, part = gateway_api.path_of(base), gateway_api.path_of(match)
    for _, change in ipairs(prefix_changes(rule)) do
        local text = paths.replacement(change.path.replacePrefixMatch or "/", own, part)
        if part.type == "Exact" then
            change.path = {type = "ReplaceFullPath", replaceFullPath = text}
        else
            change.path.replacePrefixMatch = text
        end
    end
end

local function copy_of(step, services, most, rule, matches, number, ours)
    if #matches > most then
        error("a rule would have " .. #matches .. " matches (at most " .. most .. "): fewer matches in one step")
    end
    local result = tables.copy(rule)
    result.matches = matches
    if ours then
        result.backendRefs = weights.canary_entries(services, rule.backendRefs)
    end
    if rule.name then
        result.name = rule.name .. (ours and "-canary" or "-guard") .. (number > 0 and "-" .. number or "")
    end
    if ours and step.modifier ~= nil then
        gateway_api.change_headers(result, step.modifier)
    end
    return result
end

local function check_size(step, rules)
    local total = 0
    for _, rule in ipairs(rules) do
        total = total + math.max(1, #(rule.matches or {}))
    end
    if #rules > MAX_RULES then
        error("the " .. step.kind .. " would have " .. #rules .. " rules (at most " .. MAX_RULES .. ")")
    elseif total > MAX_IN_ALL then
        error("the " .. step.kind .. " would have " .. total .. " matches in all (at most " .. MAX_IN_ALL .. ")")
    end
end

-- The criteria between matches that fit one request, in this order; after them the order of the rules decides.
local function rank(match)
    local path = gateway_api.path_of(match)
    return {
        path.type == "Exact" and 1 or 0, #path.value, match.method and 1 or 0, #(match.headers or {}),
        #(match.queryParams or {}),
    }
end

-- The match of a rule with a copy's path and conditions in addition; nil if the two can never hold together.
local function joined(known, made)
    local path = paths.common(known.place, made.place)
    if path == nil then
        return nil
    end
    local result, method = gateway_api.with_path(known.match, path), made.match.method
    if method ~= nil and not gateway_api.add(result, {what = "method", value = method}) then
        return nil
    end
    return gateway_api.joined(result, made.match)
end

---Which of two matches of an HTTPRoute wins.
---@return moonshift.Precedence
function gateway_rules.by_specificity()
    return {
        path_of = gateway_api.path_of, rank = rank, joined = joined, shadows = gateway_api.shadows(),
        size = function(match)
            local found = rank(match)
            return found[3] + found[4] + found[5]
        end,
    }
end

---Puts copies of the stable Service's rules before them, with the step's matches, and guards for other rules.
---Alternatives share one rule if possible, because a route may have only few rules.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param kind moonshift.Precedence which match wins; the rest of it is added here
---@param wanted moonshift.Alternative[]
---@param most integer matches of one rule
function gateway_rules.match(step, services, kind, wanted, most)
    kind.replaces_prefix, kind.matches_of = gateway_rules.replaces_prefix, gateway_api.matches_of
    function kind.is_ours(rule)
        return weights.has_share(step, services, rule.backendRefs)
    end
    function kind.combined(_, source, alternative)
        return gateway_api.combined(step, source, alternative)
    end
    function kind.copies(rule, matches, bases)
        local ours, result = kind.is_ours(rule), {}
        if not gateway_rules.replaces_prefix(rule) then
            return {copy_of(step, services, most, rule, matches, 0, ours)}
        end
        for number, match in ipairs(matches) do
            local twin = copy_of(step, services, most, rule, {match}, number - 1, ours)
            gateway_rules.keep_paths(twin, bases[number], match)
            table.insert(result, twin)
        end
        return result
    end
    local rules = precedence.with_copies(step, kind, step.spec.rules or {}, wanted)
    check_size(step, rules)
    step.spec.rules = rules
end

return gateway_rules
