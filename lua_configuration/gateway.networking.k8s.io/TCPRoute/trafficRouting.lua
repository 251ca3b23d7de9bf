--@name Gateway API TCPRoute
--@can weight,subpercent
--@announce
--@use steps, backends, weights, reports
--
-- Divides the stable Service's own share among the backends. Of TCP nothing can be matched, and what is open stays where it is.
--
-- obj.params.scale: multiply the weights of divided rules by this much, as Kong needs (100).

local step = steps.of(obj)
local services = backends.of(step, {
    name = "name", port = "port", namespace = "namespace", kinds = {"Service"}, groups = {"", "core"},
    without_weight = 1, most = 1000000,
})

steps.carry_out(step, {
    divide = function() weights.divide_each(step, services, step.spec.rules, "backendRefs") end,
})
return obj.data

--@taken
-- By every parent that had taken the owner's own route.

return reports.verdict(obj, reports.of_parents)
