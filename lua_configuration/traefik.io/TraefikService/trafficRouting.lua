--@name Traefik TraefikService
--@can weight,subpercent
--@use steps, backends, weights
--
-- Divides the stable Service's own share of a weighted TraefikService; a sticky cookie keeps users where they were. Matches
-- belong to the IngressRoute.
--
-- obj.params.scale: multiply the weights of the divided list by this much.

local step = steps.of(obj)
local spec = step.spec
local services = backends.of(step, {
    name = "name", port = "port", namespace = "namespace", kinds = {"Service"}, without_weight = 1, most = 1000000000,
})

steps.carry_out(step, {
    divide = function()
        for _, other in ipairs({"mirroring", "failover", "highestRandomWeight"}) do
            if spec[other] then
                error("a TraefikService with " .. other .. " cannot be divided: let it point at a weighted one")
            end
        end
        weights.divide(step, services, spec.weighted and spec.weighted.services or {})
    end,
})
return obj.data
