--@name Gloo RouteTable
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@regex re2
--@use steps, tables, weights, conditions, routes, shadows, gloo, paths, reports
--
-- Divides the stable Service's own share of every route that leads to it, or puts copies of those routes, bound to the step's
-- matches and to the new revision alone, right before them: the first that fits wins. Upstream groups have a script of
-- their own. It serves VirtualService too.
--
-- obj.params.scale: multiply the weights of divided routes by this much.
-- obj.params.both: a step's matches and its traffic at once.

local FIELDS = {header = "headers", query = "queryParameters"}
local PATH_KEYS = {Exact = "exact", Text = "prefix", RegularExpression = "regex"}
local FORM = {
    exact = function(known) return not known.regex and not known.invertMatch and known.value end,
    write = function(condition)
        return {name = condition.name, value = condition.value, regex = condition.regex or nil}
    end,
    denied = function(known)
        local any = (known.value or "") == ""
        return known.invertMatch and {all = any, value = known.value, regex = known.regex} or nil
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

local SHADOWS = {
    fields = {
        headers = "all", queryParameters = "all", methods = "any", prefix = "nothing", exact = "nothing", regex = "nothing",
        caseSensitive = "nothing",
    },
    path_of = function(matcher) return paths.of(matcher, PATH_KEYS, "Text", matcher.caseSensitive == false) end,
    -- What a delegate's own routes do not serve, later routes get.
    matches_of = function(route)
        return route.delegateAction and {} or route.matchers and #route.matchers > 0 and route.matchers or {{prefix = "/"}}
    end,
    leads_to = function(route)
        local destination = shadows.main_of(entries_of(route)).destination or {}
        return ((destination.kube or {}).ref or destination.upstream or {}).name
    end,
}

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

-- A matcher with the path that it has in common with an alternative's, and that path before and now; nil if there is none.
local function narrowed(source, alternative)
    local own = paths.of(source, PATH_KEYS, "Text", source.caseSensitive == false)
    local part, matcher = paths.served(step, own, alternative.path), tables.copy(source)
    if part and not tables.same(own, part) then
        matcher.prefix, matcher.exact, matcher.regex, matcher.caseSensitive = nil, nil, nil, nil
        matcher[PATH_KEYS[part.type]] = part.value
    end
    for _, condition in ipairs(part and alternative.conditions or {}) do
        part = part and add(matcher, condition) and part
    end
    return part and matcher, own, part
end

-- A copy of a route that leads only to the new version, without matchers.
local function copy_of(route)
    local result, entries = tables.copy(route), weights.canary_entries(services, entries_of(route), 100)
    result.matchers = {}
    result.name = route.name and route.name .. "-canary"
    if #entries == 1 and entries[1].options == nil then
        result.routeAction = {single = entries[1].destination}
    else
        result.routeAction = {multi = {destinations = entries}}
    end
    if step.modifier ~= nil then
        gloo.change_headers(result, step.modifier)
    end
    return result
end

-- Alternatives are matchers of one copy, each of the source's with each of the step's; there is a copy for each text that
-- a prefix is rewritten to.
local function copies_of(route, wanted)
    local result, by_text, sources = {}, {}, route.matchers
    local rewritten = route.options and route.options.prefixRewrite
    for _, alternative in ipairs(wanted) do
        for _, source in ipairs(sources and #sources > 0 and sources or {{prefix = "/"}}) do
            local matcher, own, part = narrowed(source, alternative)
            if matcher and routes.reached(step, SHADOWS, matcher) and routes.first_time(step, matcher) then
                local text = rewritten and paths.replacement(rewritten, own, part)
                local twin = by_text[text or ""]
                if twin == nil then
                    twin = copy_of(route)
                    by_text[text or ""] = twin
                    twin.name = twin.name and #result > 0 and twin.name .. "-" .. #result or twin.name
                    table.insert(result, twin)
                    if text then
                        twin.options.prefixRewrite = text
                    end
                end
                table.insert(twin.matchers, matcher)
            end
        end
    end
    return result
end

steps.carry_out(step, {
    match = function()
        local wanted = paths.by_letters(conditions.wanted(step, "header,header-regex,cookie,query,path,method"))
        local function is_ours(route) return weights.has_share(step, services, entries_of(route)) end
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

--@taken
-- The status has no generation: a refusal is seen, and an old success counts until then.

return reports.verdict(obj, gloo.reports)
