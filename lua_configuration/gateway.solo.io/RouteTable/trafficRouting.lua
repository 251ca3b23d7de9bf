--@name Gloo RouteTable
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@regex re2
--@use steps, tables, weights, conditions, routes, gloo
--
-- Divides the stable Service's own share of every route that leads to it, or puts copies of those routes, bound to the step's
-- matches and to the new revision alone, right before them: the first that fits wins. Upstream groups have a script of
-- their own. It serves VirtualService too.
--
-- obj.params.scale: multiply the weights of divided routes by this much.
-- obj.params.both: a step's matches and its traffic at once.

local FIELDS = {header = "headers", query = "queryParameters"}
local PATH_KEYS = {Exact = "exact", PathPrefix = "prefix", RegularExpression = "regex"}
local FORM = {
    exact = function(known) return not known.regex and not known.invertMatch and known.value end,
    write = function(condition)
        return {name = condition.name, value = condition.value, regex = condition.regex or nil}
    end,
}

local step = steps.of(obj)
local services = gloo.destinations(step)
-- Routes of a VirtualService are those of its virtual host.
local holder = step.spec.virtualHost or step.spec

-- The weighted destinations of a route; one alone has all.
local function entries_of(route)
    local action = route.routeAction or {}
    return action.multi and action.multi.destinations or {action.single and {weight = 100, destination = action.single}}
end

-- Adds a condition; false where it can never hold together with what is there.
local function add(matcher, condition)
    if condition.what == "method" then
        return conditions.only_method(matcher, condition.value)
    end
    condition = conditions.cookie_as_header(condition)
    local field = FIELDS[condition.what]
    matcher[field] = matcher[field] or {}
    return conditions.add(matcher[field], condition, FORM)
end

local function set_path(matcher, path, route)
    local key = PATH_KEYS[path.type]
    if key == "regex" and route.options and route.options.prefixRewrite then
        error("a route that rewrites its prefix cannot match a path by type " .. path.type)
    end
    matcher.prefix, matcher.exact, matcher.regex = nil, nil, nil
    matcher[key] = path.value
end

-- Alternatives are matchers of one route, each of the source's with each of the step's.
local function matchers_of(route, wanted)
    local result, sources = {}, route.matchers
    for _, alternative in ipairs(wanted) do
        for _, source in ipairs(sources and #sources > 0 and sources or {{prefix = "/"}}) do
            local matcher, possible = tables.copy(source), true
            if alternative.path then
                set_path(matcher, alternative.path, route)
            end
            for _, condition in ipairs(alternative.conditions) do
                possible = possible and add(matcher, condition)
            end
            if possible and routes.first_time(step, matcher) then
                table.insert(result, matcher)
            end
        end
    end
    return result
end

local function copies_of(route, wanted)
    local matchers = matchers_of(route, wanted)
    if #matchers == 0 then
        return {}
    end
    local result, entries = tables.copy(route), weights.canary_entries(services, entries_of(route), 100)
    result.matchers = matchers
    result.name = route.name and route.name .. "-canary"
    if #entries == 1 and entries[1].options == nil then
        result.routeAction = {single = entries[1].destination}
    else
        result.routeAction = {multi = {destinations = entries}}
    end
    if step.modifier ~= nil then
        gloo.change_headers(result, step.modifier)
    end
    return {result}
end

steps.carry_out(step, {
    match = function()
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        local function is_ours(route) return weights.has_stable(services, entries_of(route)) end
        holder.routes = routes.with_copies(step, holder.routes, is_ours, function(route) return copies_of(route, wanted) end)
    end,
    divide = function()
        for _, route in ipairs(holder.routes or {}) do
            local entries = entries_of(route)
            weights.divide(step, services, entries)
            if #entries > 1 and route.routeAction.single then
                route.routeAction.multi, route.routeAction.single = {destinations = entries}, nil
            end
        end
    end,
})
return obj.data
