--@name OpenShift Route
--@can weight
--@use steps, backends, weights, reports
--
-- Divides the stable Service's own share among `to` and the alternate backends. A Route matches a host and a path, for all
-- of its backends; sticky cookies keep users where they were.

local MAX_ALTERNATES = 3

local step = steps.of(obj)
local spec = step.spec
local services = backends.of(step, {name = "name", kinds = {"Service"}, without_weight = 100, most = 256})

steps.carry_out(step, {
    divide = function()
        local entries = {spec.to, unpack(spec.alternateBackends or {})}
        if not weights.divide(step, services, entries) then
            return
        elseif #entries - 1 > MAX_ALTERNATES then
            error("the Route would have " .. #entries - 1 .. " alternate backends (at most " .. MAX_ALTERNATES .. ")")
        end
        spec.to, spec.alternateBackends = table.remove(entries, 1), entries
    end,
})
return obj.data

--@taken

return reports.verdict(obj, function(status)
    local found = {}
    for _, router in ipairs(status.ingress or {}) do
        local name = "router " .. (router.routerName or "")
        table.insert(found, reports.of(name, router.conditions, "Admitted") or {name = name, taken = false, pending = true})
    end
    return found
end)
