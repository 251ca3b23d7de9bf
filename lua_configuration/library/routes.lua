-- Rules only for the new version: copies of the rules that lead to the stable Service, with the step's matches.
--@use tables, steps, weights, conditions, paths, shadows

local routes = {}

---Whether a value is seen for the first time at this step: a copy that an earlier rule got is not made again.
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

---Whether requests reach a copy with this match, as far as the rules before it are concerned.
---@param step moonshift.Step
---@param kind moonshift.Shadows
---@param match table
---@return boolean
function routes.reached(step, kind, match)
    return shadows.reached(step, kind, step.earlier, match)
end

---Copies of one rule, one for each alternative of the step that can hold together with the rule's own conditions.
---A copy that was already made for another rule is left out, and with `shadows` one of which an earlier rule has all
---requests. With `path_of`, a copy has what the rule's path and the step's have in common, and there is none if that is
---nothing; without it, the step's path takes the place of the rule's.
---@param step moonshift.Step
---@param rule table
---@param wanted moonshift.Alternative[]
---@param ways moonshift.CopyWays
---@return table[]
function routes.copies(step, rule, wanted, ways)
    local result = {}
    for number, alternative in ipairs(wanted) do
        local twin, possible = tables.copy(rule), true
        local match, path = ways.match_of(twin), alternative.path
        if path and ways.path_of then
            local own = ways.path_of(match)
            path = paths.served(step, own, path)
            possible = path ~= nil
            if path and not tables.same(own, path) then
                ways.set_path(match, path, twin, own)
            end
        elseif path then
            ways.set_path(match, path, twin)
        end
        for _, condition in ipairs(alternative.conditions) do
            possible = possible and ways.add(match, condition)
        end
        local key = possible and (ways.told_apart_by and ways.told_apart_by(twin, rule) or match)
        if possible and ways.shadows and not routes.reached(step, ways.shadows, match) then
            possible = false
        end
        if possible and routes.first_time(step, key) then
            if ways.finish then
                ways.finish(twin, number, #result)
            end
            table.insert(result, twin)
        end
    end
    return result
end

---The rules with their copies, each copy directly before the rule from which it was made.
---@param step moonshift.Step
---@param rules table[]?
---@param is_ours fun(rule: table): boolean whether a rule leads to the stable Service
---@param copies_of fun(rule: table): table[]
---@return table[]
function routes.with_copies(step, rules, is_ours, copies_of)
    local result = {}
    step.earlier = {}
    for _, rule in ipairs(rules or {}) do
        if is_ours(rule) then
            step.found = true
            for _, twin in ipairs(copies_of(rule)) do
                step.done = true
                table.insert(result, twin)
            end
        end
        table.insert(result, rule)
        table.insert(step.earlier, rule)
    end
    return result
end

---Carries the step out on an ordinary kind: `spec` has a list of rules, each rule has a list of backends, and the first rule
---that fits wins. `rules` and `backends` are the names of the two lists, `can` the words of `--@can` about matches; without it
---a step with matches is an error. The other fields say how a copy of a rule gets an alternative's conditions, as in
---`routes.copies`; a copy leads only to the new version, with the weight `alone` if it is given.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param kind moonshift.OrdinaryKind
function routes.carry_out(step, services, kind)
    local function copies_of(wanted)
        return function(rule)
            local result = routes.copies(step, rule, wanted, kind)
            for _, twin in ipairs(result) do
                twin[kind.backends] = weights.canary_entries(services, rule[kind.backends], kind.alone)
            end
            return result
        end
    end
    steps.carry_out(step, {
        match = kind.can and function()
            local wanted = conditions.wanted(step, kind.can)
            local function is_ours(rule) return weights.has_share(step, services, rule[kind.backends]) end
            step.spec[kind.rules] = routes.with_copies(step, step.spec[kind.rules], is_ours, copies_of(wanted))
        end,
        divide = function() weights.divide_each(step, services, step.spec[kind.rules], kind.backends) end,
    })
end

return routes
