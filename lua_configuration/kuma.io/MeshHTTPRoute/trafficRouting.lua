--@name Kuma MeshHTTPRoute
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@use steps, tables, weights, conditions, routes, gateway_api, kuma
--
-- Divides the stable Service's own share of every rule that leads to it, by references or because its list is about it, or
-- puts copies of those rules, bound to the step's matches and to the new revision alone, before them.
--
-- obj.params.scale: multiply the weights of divided rules by this much.
-- obj.params.both: a step's matches and its traffic at once.

local step = steps.of(obj)
local services = kuma.backends(step,
    "a MeshHTTPRoute changes headers for a whole rule only: give the step matches instead of traffic")

-- Names of headers are lower case here, and a prefix has no slash at its end.
local function in_kumas_words(wanted)
    for _, alternative in ipairs(wanted) do
        for _, condition in ipairs(alternative.conditions) do
            condition.name = condition.what == "header" and condition.name:lower() or condition.name
        end
        local path = alternative.path
        if path and path.type == "PathPrefix" and path.value ~= "/" then
            path.value = path.value:gsub("/+$", "")
        end
    end
    for _, list in pairs(step.modifier or {}) do
        for index, item in ipairs(list) do
            if type(item) == "table" then
                item.name = item.name:lower()
            else
                list[index] = item:lower()
            end
        end
    end
end

-- One rule for all alternatives.
local function copies_of(rule, target, wanted)
    local matches = {}
    for _, alternative in ipairs(wanted) do
        for _, match in ipairs(gateway_api.combined(step, gateway_api.matches_of(rule), alternative)) do
            if tables.contains(rule.matches or {}, match) then
                error("a rule has the matches of this step already, and there cannot be two of them")
            end
            table.insert(matches, match)
        end
    end
    if #matches == 0 then
        return {}
    end
    local result = tables.copy(rule)
    result.matches, result.default = matches, result.default or {}
    result.default.backendRefs = weights.canary_entries(services, kuma.refs_of(rule, target))
    if step.modifier ~= nil then
        gateway_api.change_headers(result.default, step.modifier)
    end
    return {result}
end

steps.carry_out(step, {
    match = function()
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        in_kumas_words(wanted)
        for _, to in ipairs(step.spec.to or {}) do
            -- Rules of different lists have nothing to do with each other.
            step.seen = {}
            local function is_ours(rule)
                return weights.has_stable(services, kuma.refs_of(rule, to.targetRef))
            end
            to.rules = to.rules and routes.with_copies(step, to.rules, is_ours, function(rule)
                return copies_of(rule, to.targetRef, wanted)
            end)
        end
    end,
    divide = function() kuma.divide(step, services) end,
})
return obj.data
