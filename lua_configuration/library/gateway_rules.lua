-- HTTPRoute, GRPCRoute and kinds with the same rules: copies of whole rules, with guards, within the limits of a route.
--@use tables, weights, precedence, gateway_api

local gateway_rules = {}

local MAX_RULES, MAX_IN_ALL = 16, 128

-- A filter that replaces the matched prefix wants exactly one match in its rule, and that by prefix.
local function replaces_prefix(rule)
    for _, filter in ipairs(rule.filters or {}) do
        local change = filter.urlRewrite or filter.requestRedirect
        if change and change.path and change.path.type == "ReplacePrefixMatch" then
            return true
        end
    end
    return false
end

-- The matches of all rules, and the copies of the stable Service's.
local function known_and_made(step, services, kind, wanted)
    local known, made = {}, {}
    for index, rule in ipairs(step.spec.rules or {}) do
        local ours, replaces = weights.has_stable(services, rule.backendRefs), replaces_prefix(rule)
        step.found = step.found or ours
        for _, match in ipairs(gateway_api.matches_of(rule)) do
            table.insert(known, precedence.known(kind, index, match, ours, replaces))
        end
        for _, alternative in ipairs(ours and wanted or {}) do
            local path = alternative.path
            if path and path.type ~= "PathPrefix" and replaces then
                error("a rule that replaces its prefix cannot match a path by type " .. path.type)
            end
            for _, source in ipairs(gateway_api.matches_of(rule)) do
                for _, match in ipairs(gateway_api.combined(step, {source}, alternative)) do
                    table.insert(made, precedence.made(kind, index, source, match, path))
                end
            end
        end
    end
    return known, made
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

---Puts copies of the rules that lead to the stable Service before them, bound to the step's matches, and guards for other
---rules. Alternatives share one rule where they can: a route has few.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param kind moonshift.Precedence
---@param wanted moonshift.Alternative[]
---@param most integer matches of one rule
function gateway_rules.match(step, services, kind, wanted, most)
    local known, made = known_and_made(step, services, kind, wanted)
    precedence.add_guards(kind, made, known)
    local result = {}
    for index, rule in ipairs(step.spec.rules or {}) do
        local matches, ours = precedence.before(step, made, index), weights.has_stable(services, rule.backendRefs)
        if replaces_prefix(rule) then
            for number, match in ipairs(matches) do
                table.insert(result, copy_of(step, services, most, rule, {match}, number - 1, ours))
            end
        elseif #matches > 0 then
            table.insert(result, copy_of(step, services, most, rule, matches, 0, ours))
        end
        table.insert(result, rule)
    end
    precedence.check_idle(step, made)
    check_size(step, result)
    step.spec.rules = result
end

---Divides the stable Service's share of every rule.
---@param step moonshift.Step
---@param services moonshift.Backends
function gateway_rules.divide(step, services)
    for _, rule in ipairs(step.spec.rules or {}) do
        weights.divide(step, services, rule.backendRefs or {})
    end
end

return gateway_rules
