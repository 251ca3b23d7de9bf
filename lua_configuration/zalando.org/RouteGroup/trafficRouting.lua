--@name Skipper RouteGroup
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@regex re2
--@use steps, tables, backends, weights, conditions, named_backends, precedence, skipper
--
-- Divides what goes to backends of the stable Service, in routes and in the default backends, or puts copies of routes,
-- bound to the step's matches and to the new revision alone, before those that go to stable. Predicates hold together, so
-- each alternative is a route of its own; more predicates win, whatever the order. A route for others over which a copy could
-- win gets a guard, a copy that leads where it leads.
--
-- obj.params.scale: multiply the weights of divided lists by this much.
-- obj.params.both: a step's matches and its traffic at once.

local step = steps.of(obj)
local spec = step.spec
local twins, complete = named_backends.with_copies(step, spec.backends, {
    service = "serviceName", port = "servicePort", noun = "a backend",
    only = function(backend) return backend.type == nil or backend.type == "service" end,
})
local services = backends.of(step, {
    is_stable = function(entry) return twins[entry.backendName] ~= nil end,
    canary = function(entry)
        local result = tables.copy(entry)
        result.backendName, result.weight = twins[entry.backendName], nil
        return result
    end,
    address = function(entry) return entry.backendName end,
    headers = "a RouteGroup changes headers for a whole route: give the step matches instead of traffic",
    without_weight = backends.even_or_nothing, most = 1000000000,
})

local function backends_of(route)
    return route.backends and #route.backends > 0 and route.backends or spec.defaultBackends or {}
end

local function change_headers(route)
    local filters = {}
    for _, header in ipairs(step.modifier.set or {}) do
        table.insert(filters, skipper.call("setRequestHeader", {header.name, header.value}))
    end
    for _, header in ipairs(step.modifier.add or {}) do
        table.insert(filters, skipper.call("appendRequestHeader", {header.name, header.value}))
    end
    for _, name in ipairs(step.modifier.remove or {}) do
        table.insert(filters, skipper.call("dropRequestHeader", {name}))
    end
    for _, filter in ipairs(route.filters or {}) do
        table.insert(filters, filter)
    end
    route.filters = filters
end

local kind = skipper.precedence()

function kind.is_ours(route)
    return weights.has_share(step, services, backends_of(route))
end

function kind.matches_of(route)
    return {skipper.match_of(route)}
end

function kind.replaces_prefix()
    return false
end

function kind.combined(_, source, alternative)
    local match = skipper.narrowed(step, source, alternative.path)
    for _, condition in ipairs(match and alternative.conditions or {}) do
        match = match and skipper.add(match, condition) and match
    end
    return match or nil
end

-- Copies of a route: for the new version, or guards that lead where the route leads.
function kind.copies(route, matches)
    local result = {}
    for number, match in ipairs(matches) do
        local twin = tables.copy(route)
        for _, field in ipairs(skipper.FIELDS) do
            twin[field] = match[field]
        end
        if kind.is_ours(route) then
            twin.backends = weights.canary_entries(services, backends_of(twin))
            if step.modifier ~= nil then
                change_headers(twin)
            end
        end
        result[number] = twin
    end
    return result
end

steps.carry_out(step, {
    match = function()
        local wanted, list = conditions.wanted(step, "header,header-regex,cookie,query,path,method"), spec.routes
        if list == nil or #list == 0 then
            -- The default route is there only as long as no other is.
            list = {{pathSubtree = "/"}}
        end
        list = precedence.with_copies(step, kind, list, wanted)
        if step.done then
            spec.routes, spec.backends = list, complete
        end
    end,
    divide = function()
        weights.divide(step, services, spec.defaultBackends or {})
        for _, route in ipairs(spec.routes or {}) do
            weights.divide(step, services, route.backends or {})
        end
        if step.found and step.weight > 0 then
            spec.backends = complete
        end
    end,
})
return obj.data
