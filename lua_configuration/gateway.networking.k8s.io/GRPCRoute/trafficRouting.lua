--@name Gateway API GRPCRoute
--@can weight,subpercent,header,header-regex,cookie,header-modifier
--@announce
--@use steps, tables, weights, conditions, gateway_api, gateway_rules, reports
--
-- Divides the stable Service's own share of every rule that has it among its backends, or puts copies of those rules, bound
-- to the step's matches and to the new revision alone, right before them. A GRPCRoute matches headers; the methods that its
-- own rules match are names of gRPC methods, not verbs.
-- A rule for others over which a copy would win gets a guard, a copy that leads where it leads.
--
-- obj.params.scale: multiply the weights of divided rules by this much, as Kong needs (100).
-- obj.params.both: a step's matches and its traffic at once.

local MAX_MATCHES = 64

local step = steps.of(obj)
local services = gateway_api.backends(step, gateway_api.change_headers)

-- Which match wins: that with the longer name of a Service, then of a method, then with more headers.
local precedence = {
    path_of = function(match)
        local method = match.method or {}
        return {type = method.type or "Exact", value = (method.service or "") .. "/" .. (method.method or "")}
    end,
    rank = function(match)
        local method = match.method or {}
        return {#(method.service or ""), #(method.method or ""), #(match.headers or {})}
    end,
    size = function(match)
        return #(match.headers or {})
    end,
    -- The match of a rule with a copy's headers on top; nil where the two never hold together. No step has a path here.
    joined = function(known, made)
        return tables.same(known.place, made.place)
            and gateway_api.joined(tables.copy(known.match), {headers = made.match.headers}) or nil
    end,
}

precedence.shadows = gateway_api.shadows()
precedence.shadows.path_of = precedence.path_of

steps.carry_out(step, {
    match = function()
        local wanted = conditions.wanted(step, "header,header-regex,cookie")
        gateway_rules.match(step, services, precedence, wanted, MAX_MATCHES)
    end,
    divide = function() weights.divide_each(step, services, step.spec.rules, "backendRefs") end,
})
return obj.data

--@taken
-- By every parent that had taken the owner's own route.

return reports.verdict(obj, reports.of_parents)
