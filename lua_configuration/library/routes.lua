-- Rules for the new version alone: copies of the rules that lead to the stable Service, bound to the step's matches.
--@use tables

local routes = {}

---Whether a value is seen for the first time at this step: what a rule further up was given is not said again.
---@param step moonshift.Step
---@param value any
---@return boolean
function routes.first_time(step, value)
    if tables.contains(step.seen, value) then
        return false
    end
    table.insert(step.seen, value)
    return true
end

---Copies of one rule, one for each alternative of the step that can hold together with the rule's own conditions. What was
---made for another rule already is left out.
---@param step moonshift.Step
---@param rule table
---@param wanted moonshift.Alternative[]
---@param ways moonshift.CopyWays
---@return table[]
function routes.copies(step, rule, wanted, ways)
    local result = {}
    for number, alternative in ipairs(wanted) do
        local twin, possible = tables.copy(rule), true
        local match = ways.match_of(twin)
        if alternative.path then
            ways.set_path(match, alternative.path, twin)
        end
        for _, condition in ipairs(alternative.conditions) do
            possible = possible and ways.add(match, condition)
        end
        if possible and routes.first_time(step, (ways.told_apart_by or ways.match_of)(twin)) then
            ways.finish(twin, number, #result)
            table.insert(result, twin)
        end
    end
    return result
end

---The rules with their copies, each right before the rule it comes from.
---@param step moonshift.Step
---@param rules table[]?
---@param is_ours fun(rule: table): boolean whether a rule leads to the stable Service
---@param copies_of fun(rule: table): table[]
---@return table[]
function routes.with_copies(step, rules, is_ours, copies_of)
    local result = {}
    for _, rule in ipairs(rules or {}) do
        if is_ours(rule) then
            step.found = true
            for _, twin in ipairs(copies_of(rule)) do
                step.done = true
                table.insert(result, twin)
            end
        end
        table.insert(result, rule)
    end
    return result
end

return routes
