--@name Kuma MeshTCPRoute
--@can weight,subpercent
--@use steps, kuma
--
-- Divides the stable Service's own share among the backends of every rule. Connections that are open stay where they are.
--
-- Of several subsets of the Service (by tags), only those whose tags the stable pods have as labels are the release's.
--
-- obj.params.stableSubset: the subset, or the list of subsets, with the pods of the release ("tag=value,tag=value").
-- obj.params.scale: multiply the weights of divided rules by this much.

local step = steps.of(obj)
local services = kuma.backends(step)

steps.carry_out(step, {
    divide = function() kuma.divide(step, services) end,
})
return obj.data
