--@name Gateway API TCPRoute
--@can weight,subpercent
--@announce
--@use steps, weights, gateway_api
--
-- Divides the stable Service's own share among the backends. Of TCP nothing can be matched, and what is open stays where it is.
--
-- obj.params.scale: multiply the weights of divided rules by this much, as Kong needs (100).

local step = steps.of(obj)
local services = gateway_api.backends(step)

steps.carry_out(step, {
    divide = function()
        for _, rule in ipairs(step.spec.rules or {}) do
            weights.divide(step, services, rule.backendRefs or {})
        end
    end,
})
return obj.data
