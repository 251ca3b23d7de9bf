--@name Kuma MeshHTTPRoute
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@regex re2
--@use steps, tables, weights, conditions, precedence, gateway_api, gateway_rules, kuma
--
-- Divides the stable Service's own share of every rule that leads to it, by references or because its list is about it, or
-- puts copies of those rules, bound to the step's matches and to the new revision alone, before them. The most specific rule
-- wins: one for others over which a copy would win gets a guard, a copy that leads where it leads.
--
-- Of several subsets of the Service (by tags), only those whose tags the stable pods have as labels are the release's.
--
-- obj.params.stableSubset: the subset, or the list of subsets, with the pods of the release ("tag=value,tag=value").
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

-- Which of a list's rules wins, and how one is copied: one rule for all alternatives, unless it replaces its prefix. A match
-- may be there once, so a copy with the match of its source takes its place.
local function kind_of(target)
    local kind = gateway_rules.by_specificity()
    kind.matches_of, kind.unique = gateway_api.matches_of, true
    function kind.is_ours(rule)
        return weights.has_share(step, services, kuma.refs_of(rule, target))
    end
    function kind.replaces_prefix(rule)
        return gateway_rules.replaces_prefix(rule.default or {})
    end
    function kind.combined(_, source, alternative)
        return gateway_api.combined(step, source, alternative)
    end
    function kind.with_matches(rule, matches)
        local result = tables.copy(rule)
        result.matches = matches
        return result
    end
    local function copy_of(rule, matches)
        local result = kind.with_matches(rule, matches)
        if kind.is_ours(rule) then
            result.default = result.default or {}
            result.default.backendRefs = weights.canary_entries(services, kuma.refs_of(rule, target))
            if step.modifier ~= nil then
                gateway_api.change_headers(result.default, step.modifier)
            end
        end
        return result
    end
    -- Where the prefix is replaced, matches of one rule have one replacement.
    function kind.copies(rule, matches, bases)
        local result = {}
        for number, match in ipairs(matches) do
            local twin, last = copy_of(rule, {match}), result[#result]
            gateway_rules.keep_paths(twin.default or {}, bases[number], match)
            if last and tables.same(last.default, twin.default) then
                table.insert(last.matches, match)
            else
                table.insert(result, twin)
            end
        end
        return result
    end
    return kind
end

steps.carry_out(step, {
    match = function()
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        in_kumas_words(wanted)
        for _, to in ipairs(step.spec.to or {}) do
            -- Rules of different lists have nothing to do with each other.
            to.rules = to.rules and precedence.with_copies(step, kind_of(to.targetRef), to.rules, wanted)
        end
    end,
    divide = function() kuma.divide(step, services) end,
})
return obj.data
