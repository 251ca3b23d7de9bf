--@name Skipper RouteGroup
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@use steps, tables, backends, weights, conditions, routes, named_backends
--
-- Divides what goes to backends of the stable Service, in routes and in the default backends, or puts copies of routes,
-- bound to the step's matches and to the new revision alone, before those that go to stable. Predicates hold together, so
-- each alternative is a route of its own; more predicates win, whatever the order.
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

local function call(name, ...)
    local arguments = {}
    for _, text in ipairs({...}) do
        table.insert(arguments, '"' .. text:gsub('[\\"]', "\\%0") .. '"')
    end
    return name .. "(" .. table.concat(arguments, ", ") .. ")"
end

-- Parameters and cookies are matched by expressions only.
local function predicate_of(condition)
    if condition.what == "query" then
        return call("QueryParam", condition.name, conditions.whole(condition))
    elseif condition.what == "cookie" then
        return call("Cookie", condition.name, conditions.whole(condition))
    elseif condition.regex then
        return call("HeaderRegexp", condition.name, conditions.whole(condition))
    end
    return call("Header", condition.name, condition.value)
end

-- What tells routes apart: two that are alike are refused.
local function key_of(route)
    return {route.path or false, route.pathSubtree or false, route.pathRegexp or false,
        route.predicates or {}, route.methods or {}}
end

local function change_headers(route)
    local filters = {}
    for _, header in ipairs(step.modifier.set or {}) do
        table.insert(filters, call("setRequestHeader", header.name, header.value))
    end
    for _, header in ipairs(step.modifier.add or {}) do
        table.insert(filters, call("appendRequestHeader", header.name, header.value))
    end
    for _, name in ipairs(step.modifier.remove or {}) do
        table.insert(filters, call("dropRequestHeader", name))
    end
    for _, filter in ipairs(route.filters or {}) do
        table.insert(filters, filter)
    end
    route.filters = filters
end

local ways = {
    match_of = function(route) return route end,
    told_apart_by = function(route, source)
        local key = key_of(route)
        if tables.same(key, key_of(source)) then
            error("a route has the conditions of this step already, and there cannot be two of them")
        end
        return key
    end,
    set_path = function(route, path)
        route.path, route.pathSubtree, route.pathRegexp = nil, nil, nil
        if path.type == "Exact" then
            route.path = path.value
        elseif path.type == "PathPrefix" then
            route.pathSubtree = path.value
        else
            route.pathRegexp = conditions.whole({value = path.value, regex = true})
        end
    end,
    add = function(route, condition)
        if condition.what == "method" then
            return conditions.only_method(route, condition.value)
        end
        route.predicates = route.predicates or {}
        tables.add(route.predicates, predicate_of(condition))
        return true
    end,
    finish = function(route)
        route.backends = weights.canary_entries(services, backends_of(route))
        if step.modifier ~= nil then
            change_headers(route)
        end
    end,
}

steps.carry_out(step, {
    match = function()
        local wanted, list = conditions.wanted(step, "header,header-regex,cookie,query,path,method"), spec.routes
        if list == nil or #list == 0 then
            -- The default route is there only as long as no other is.
            list = {{pathSubtree = "/"}}
        end
        local function is_ours(route) return weights.has_stable(services, backends_of(route)) end
        list = routes.with_copies(step, list, is_ours, function(route)
            return routes.copies(step, route, wanted, ways)
        end)
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
