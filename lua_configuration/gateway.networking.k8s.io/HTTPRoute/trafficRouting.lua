--@name Gateway API HTTPRoute
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@announce
--@use steps, weights, conditions, gateway_api, gateway_rules, reports
--
-- Divides the stable Service's own share of every rule that has it among its backends, or puts copies of those rules, bound
-- to the step's matches and to the new revision alone, right before them. It serves policy.linkerd.io too, whose rules have
-- fewer matches.
-- A rule for others over which a copy would win gets a guard, a copy that leads where it leads.
--
-- An expression means what the gateway's implementation makes of it: a full match of RE2 with Envoy.
-- obj.params.scale: multiply the weights of divided rules by this much, as Kong needs (100).
-- obj.params.both: a step's matches and its traffic at once.

local step = steps.of(obj)
local services = gateway_api.backends(step, gateway_api.change_headers)
local linkerd = ((obj.object or {}).apiVersion or ""):find("^policy%.linkerd%.io/")
local MAX_MATCHES = linkerd and 8 or 64

steps.carry_out(step, {
    match = function()
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        gateway_rules.match(step, services, gateway_rules.by_specificity(), wanted, MAX_MATCHES)
    end,
    divide = function() weights.divide_each(step, services, step.spec.rules, "backendRefs") end,
})
return obj.data

--@taken
-- By every parent that had taken the owner's own route.

return reports.verdict(obj, reports.of_parents)
