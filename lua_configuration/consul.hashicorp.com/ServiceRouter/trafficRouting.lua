--@name Consul ServiceRouter
--@siblings consul.hashicorp.com/ServiceSplitter
--@can header,header-regex,cookie,query,path,method,header-modifier
--@regex re2
--@use steps, conditions, routes, consul, paths, reports
--
-- Puts copies of the routes to the stable Service, bound to the step's matches and to the new revision alone, right before
-- them; the route that Consul adds by itself, for all that is left, gets one too. Conditions hold together, so each
-- alternative is a route of its own. A share of the traffic is for the ServiceSplitter of the same name: where one goes
-- along in the release, a step with traffic leaves the routes as they are.
--
-- obj.params.stableSubset: of several subsets, the one or the list that has the pods of the release.
-- obj.params.subset: the subset of the new revision where both share one Service ("canary").

local FIELDS = {header = "header", query = "queryParam"}
local PATH_KEYS = {Exact = "pathExact", Text = "pathPrefix", RegularExpression = "pathRegex"}
local FORM = {
    exact = function(known) return not known.invert and known.exact end,
    write = function(condition)
        return {name = condition.name, [condition.regex and "regex" or "exact"] = condition.value}
    end,
    denied = function(known)
        return known.invert and {
            all = known.present, value = known.exact or known.regex, regex = known.regex ~= nil, prefix = known.prefix,
        } or nil
    end,
}

local step = steps.of(obj, nil, true)
local destinations = {}
for _, route in ipairs(step.spec.routes or {}) do
    table.insert(destinations, route.destination or {})
end
local services = consul.destinations(step, destinations)

local function path_of(http)
    return paths.of(http, PATH_KEYS, "Text", http.caseInsensitive)
end

local ways = {
    shadows = {
        fields = {
            header = "all", queryParam = "all", methods = "any", pathExact = "nothing", pathPrefix = "nothing",
            pathRegex = "nothing", caseInsensitive = "nothing",
        },
        path_of = path_of,
        matches_of = function(route) return {(route.match or {}).http or {}} end,
        leads_to = function(route) return (route.destination or {}).service end,
    },
    match_of = function(route)
        route.match = route.match or {}
        route.match.http = route.match.http or {}
        return route.match.http
    end,
    path_of = path_of,
    set_path = function(http, path, route, own)
        local destination = route.destination or {}
        if destination.prefixRewrite then
            destination.prefixRewrite = paths.replacement(destination.prefixRewrite, own, path)
        end
        http.pathExact, http.pathPrefix, http.pathRegex, http.caseInsensitive = nil, nil, nil, nil
        http[PATH_KEYS[path.type]] = path.value
    end,
    add = function(http, condition)
        if condition.what == "method" then
            return conditions.only_method(http, condition.value)
        end
        condition = conditions.cookie_as_header(condition)
        local field = FIELDS[condition.what]
        http[field] = http[field] or {}
        return conditions.add(http[field], condition, FORM)
    end,
    told_apart_by = function(route) return route.match end,
    finish = function(route)
        route.destination = services.canary(route.destination or {})
        if step.modifier ~= nil then
            consul.change_headers(route.destination, step.modifier)
        end
    end,
}

steps.carry_out(step, {
    match = function()
        local wanted = paths.by_letters(conditions.wanted(step, "header,header-regex,cookie,query,path,method"))
        local function is_ours(route) return services.is_stable(route.destination or {}) end
        local function copies_of(route) return routes.copies(step, route, wanted, ways) end
        local list = routes.with_copies(step, step.spec.routes, is_ours, copies_of)
        if (obj.object or {}).name == step.stable then
            step.found = true
            for _, twin in ipairs(copies_of({})) do
                step.done = true
                table.insert(list, twin)
            end
        end
        step.spec.routes = list
    end,
    divide = function()
        if not consul.has_sibling(step, "ServiceSplitter") then
            error("no ServiceRouter has weights: name the ServiceSplitter of " .. step.stable .. " in the release as well")
        end
        step.found, step.done = true, true
    end,
})
return obj.data

--@taken
-- The condition has no generation: a refusal is seen, and an old success counts until then.

return reports.verdict(obj, function(status) return {reports.of("Consul", status.conditions, "Synced")} end)
