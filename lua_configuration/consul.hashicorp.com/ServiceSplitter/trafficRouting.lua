--@name Consul ServiceSplitter
--@siblings consul.hashicorp.com/ServiceRouter
--@can weight,subpercent,header-modifier
--@use steps, tables, weights, consul, reports
--
-- Divides the stable Service's own share of the splits, whose sum is 100 to two decimals. Matches are for the ServiceRouter of
-- the same name: where one goes along in the release, a step with matches leaves the splits as they are.
--
-- obj.params.stableSubset: of several subsets, the one or the list that has the pods of the release.
-- obj.params.subset: the subset of the new revision where both share one Service ("canary").

local step = steps.of(obj, nil, true)
local services = consul.destinations(step, step.spec.splits or {})

steps.carry_out(step, {
    match = function()
        if not consul.has_sibling(step, "ServiceRouter") then
            error("no ServiceSplitter can match anything: name the ServiceRouter of " .. step.stable
                .. " in the release as well")
        end
        step.found, step.done = true, true
    end,
    -- In hundredths the weights are whole numbers, and always of one sum.
    divide = function()
        local hundredths = tables.copy(step.spec.splits or {})
        for _, entry in ipairs(hundredths) do
            entry.weight = math.floor((entry.weight or 0) * 100 + 0.5)
        end
        local before = tables.copy(hundredths)
        weights.divide(step, services, hundredths)
        if tables.same(hundredths, before) then
            return
        end
        for _, entry in ipairs(hundredths) do
            entry.weight = entry.weight / 100
        end
        step.spec.splits = hundredths
    end,
})
return obj.data

--@taken
-- The condition has no generation: a refusal is seen, and an old success counts until then.

return reports.verdict(obj, function(status) return {reports.of("Consul", status.conditions, "Synced")} end)
