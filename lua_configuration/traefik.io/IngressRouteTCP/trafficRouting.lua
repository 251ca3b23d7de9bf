--@name Traefik IngressRouteTCP
--@can weight,subpercent
--@use steps, backends, weights
--
-- Divides the stable Service's own share of every route. Connections that are open stay where they are.
--
-- obj.params.scale: multiply the weights of divided routes by this much.

local step = steps.of(obj)
local services = backends.of(step, {
    name = "name", port = "port", namespace = "namespace", kinds = {"Service"}, without_weight = 1, most = 1000000000,
})

steps.carry_out(step, {
    divide = function() weights.divide_each(step, services, step.spec.routes, "services") end,
})
return obj.data
