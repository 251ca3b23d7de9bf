--@name Gateway API HTTPRoute
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@announce
--@use steps, tables, weights, conditions, gateway_api, gateway_rules
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

local function path_of(match)
    local path = match.path or {}
    return {type = path.type or "PathPrefix", value = path.value or "/"}
end

-- What decides between matches that hold for one request, in this order; then the order of the rules does.
local function rank(match)
    local path = path_of(match)
    return {
        path.type == "Exact" and 1 or 0, #path.value, match.method and 1 or 0, #(match.headers or {}),
        #(match.queryParams or {}),
    }
end

-- The match of a rule with a copy's path and conditions on top; nil where the two never hold together.
local function joined(known, made)
    local result = tables.copy(known.match)
    if made.match.path then
        if made.path and known.replaces and not tables.same(path_of(known.match), path_of(made.match)) then
            error("the path of this step would have to be taken from a rule for others that replaces its prefix")
        end
        result.path = tables.copy(made.match.path)
    end
    local method = made.match.method
    if method ~= nil and not gateway_api.add(result, {what = "method", value = method}) then
        return nil
    end
    return gateway_api.joined(result, made.match)
end

local precedence = {
    path_of = path_of, rank = rank, joined = joined,
    size = function(match)
        local found = rank(match)
        return found[3] + found[4] + found[5]
    end,
    with_path = function(match, path)
        local result = tables.copy(match)
        result.path = tables.copy(path)
        return result
    end,
}

steps.carry_out(step, {
    match = function()
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        gateway_rules.match(step, services, precedence, wanted, MAX_MATCHES)
    end,
    divide = function() weights.divide_each(step, services, step.spec.rules, "backendRefs") end,
})
return obj.data
