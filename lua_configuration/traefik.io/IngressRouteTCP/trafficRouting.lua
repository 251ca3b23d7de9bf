--@name Traefik IngressRouteTCP
--@can weight,subpercent
--@use steps, backends, routes
--
-- Divides the stable Service's own share of every route. Connections that are open stay where they are.
--
-- obj.params.scale: multiply the weights of divided routes by this much.

local step = steps.of(obj)
local services = backends.of(step, {
    name = "name", port = "port", namespace = "namespace", kinds = {"Service"}, without_weight = 1, most = 1000000000,
})

routes.carry_out(step, services, {rules = "routes", backends = "services"})
return obj.data
