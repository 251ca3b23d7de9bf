--@name F5 CIS VirtualServer
--@can weight
--@use steps, backends, weights
--
-- Divides the stable Service's own share of every pool among its Service and the alternate backends, of a TransportServer
-- that of its one pool. Weights end at 256.
-- The default pool has no weights: one that leads to the stable Service is refused.
-- A pool matches a path, for all of its backends.

local step = steps.of(obj)
local spec = step.spec
local services = backends.of(step, {
    name = "service", namespace = "serviceNamespace", without_weight = 100, most = 256,
    canary = function(entry)
        return {service = step.canary, serviceNamespace = entry.serviceNamespace}
    end,
})

-- The Service of the pool itself is the first of its backends.
local function divide_pool(pool)
    local entries = {pool, unpack(pool.alternateBackends or {})}
    if weights.divide(step, services, entries) then
        table.remove(entries, 1)
        pool.alternateBackends = entries
    end
end

steps.carry_out(step, {
    divide = function()
        for _, pool in ipairs(spec.pools or {spec.pool}) do
            divide_pool(pool)
        end
        -- Its share could not follow, and would stay with the old revision without a word.
        if spec.defaultPool ~= nil and services.is_stable(spec.defaultPool) then
            error("the default pool of a VirtualServer has no weights: name Service " .. step.stable
                .. " in a pool with a path")
        end
    end,
})
return obj.data
