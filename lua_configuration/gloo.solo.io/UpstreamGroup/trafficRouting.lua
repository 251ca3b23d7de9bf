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
-- Gloo writes one status, or one for each of its namespaces, without a generation; states are words, or numbers before 1.6.

local STATES = {[0] = "Pending", "Accepted", "Rejected", "Warning"}

return reports.verdict(obj, function(status)
    local found = {}
    local function add(where, report)
        local state = STATES[report.state] or report.state
        if state then
            table.insert(found, {
                name = (report.reportedBy or "Gloo") .. where, taken = state ~= "Rejected", pending = state == "Pending",
                words = report.reason,
            })
        end
    end
    add("", status)
    for namespace, report in pairs(status.statuses or {}) do
        add(" in " .. namespace, report)
    end
    return found
end)
