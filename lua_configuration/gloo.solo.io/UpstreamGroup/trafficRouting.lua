--@name Gloo UpstreamGroup
--@can weight,subpercent,header-modifier
--@use steps, weights, gloo, reports
--
-- Divides the stable Service's own share among the destinations of the group. Matches belong to the routes that lead here.
--
-- obj.params.scale: multiply the weights by this much.

local step = steps.of(obj)
local destinations = gloo.destinations(step)

steps.carry_out(step, {
    match = function()
        error("no UpstreamGroup can match anything: name the VirtualService or RouteTable in the release instead")
    end,
    divide = function() weights.divide(step, destinations, step.spec.destinations or {}) end,
})
return obj.data

--@taken
-- The status has no generation: a refusal is seen, and an old success counts until then.

return reports.verdict(obj, gloo.reports)
