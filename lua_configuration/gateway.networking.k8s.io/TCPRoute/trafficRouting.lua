--@name Gateway API TCPRoute
--@can weight,subpercent
--@announce
--@use steps, routes, gateway_api
--
-- Divides the stable Service's own share among the backends. Of TCP nothing can be matched, and what is open stays where it is.
--
-- obj.params.scale: multiply the weights of divided rules by this much, as Kong needs (100).

local step = steps.of(obj)

routes.carry_out(step, gateway_api.backends(step), {rules = "rules", backends = "backendRefs"})
return obj.data
