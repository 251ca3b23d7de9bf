--@name Contour HTTPProxy
--@can weight,subpercent,header,header-regex,cookie,query,path,header-modifier
--@regex re2
--@announce
--@use steps, tables, backends, weights, conditions, precedence, contour, paths, reports
--
-- Divides the stable Service's own share of every route, the TCP proxy's included, or puts copies of those routes, bound to
-- the step's matches and to the new revision alone, before them. Conditions of a route hold together, so each alternative
-- is a route of its own; Contour goes by how specific they are, not by their order. Mirrors are never divided.
-- A rule for others over which a copy would win gets a guard, a copy that leads where it leads.
--
-- obj.params.scale: multiply the weights of divided routes by this much.
-- obj.params.both: a step's matches and its traffic at once.

local step = steps.of(obj)
local spec = step.spec

-- A route's or a Service's policy: the two have one shape.
local function change_headers(holder, modifier)
    if modifier.add then
        error("no HTTPProxy can add values to headers: set or remove them instead")
    end
    local policy = holder.requestHeadersPolicy or {}
    holder.requestHeadersPolicy = policy
    for _, header in ipairs(modifier.set or {}) do
        policy.set = policy.set or {}
        tables.put(policy.set, tables.copy(header))
    end
    for _, name in ipairs(modifier.remove or {}) do
        policy.remove = policy.remove or {}
        tables.put_once(policy.remove, name)
    end
end

-- Services are of the proxy's own namespace.
local services = backends.of(step, {
    name = "name", port = "port", only = function(entry) return not entry.mirror end,
    without_weight = backends.even_or_nothing, most = 1000000000, headers = change_headers,
})

local function without_mirrors(list)
    local parts, mirrors = {}, {}
    for _, entry in ipairs(list or {}) do
        table.insert(entry.mirror and mirrors or parts, entry)
    end
    return parts, mirrors
end

local kind = contour.precedence()

function kind.is_ours(route)
    return weights.has_share(step, services, (without_mirrors(route.services)))
end

function kind.matches_of(route)
    return {route.conditions or {}}
end

function kind.replaces_prefix(route)
    return (route.pathRewritePolicy or {}).replacePrefix ~= nil
end

-- The conditions of a route with those of an alternative; nil where no request fits both.
function kind.combined(_, source, alternative)
    local path = alternative.path
    if path and path.value:sub(1, 1) ~= "/" then
        -- Contour takes such an HTTPProxy out of service, with all of its routes.
        error("a path of an HTTPProxy begins with /, an expression as well: " .. path.value)
    end
    path = paths.served(step, kind.path_of(source), path)
    local list = path and contour.with_path(source, path)
    for _, condition in ipairs(list and alternative.conditions or {}) do
        list = list and contour.add(list, condition) and list
    end
    return list or nil
end

-- Lets a copy replace as much of a path as its route, now that it matches only a part of the route's path.
local function keep_paths(twin, base, list)
    local own, part = kind.path_of(base), kind.path_of(list)
    if tables.same(own, part) then
        return
    elseif part.type ~= "Text" then
        error("a route that replaces its prefix cannot match a path by type " .. part.type)
    elseif part.value:find("^/", #own.value:gsub("/+$", "") + 1) then
        -- Contour sees to it that a replaced prefix and the rest of the path have one slash between them.
        own.type = "PathPrefix"
    end
    for _, change in ipairs(twin.pathRewritePolicy.replacePrefix) do
        change.replacement = paths.replacement(change.replacement, own, part)
        -- The route may be included below another prefix, with which the change's begins.
        change.prefix = change.prefix and paths.replacement(change.prefix, own, part)
    end
end

-- Copies of a route: for the new revision, or guards that lead where the route leads.
function kind.copies(route, lists, bases)
    local result = {}
    for number, list in ipairs(lists) do
        local twin = tables.copy(route)
        twin.conditions, result[number] = list, twin
        if kind.replaces_prefix(route) then
            keep_paths(twin, bases[number], list)
        end
        if kind.is_ours(route) then
            local parts, mirrors = without_mirrors(twin.services)
            twin.services = weights.canary_entries(services, parts)
            for _, mirror in ipairs(mirrors) do
                table.insert(twin.services, mirror)
            end
            if step.modifier ~= nil then
                change_headers(twin, step.modifier)
            end
        end
    end
    return result
end

steps.carry_out(step, {
    match = function()
        local wanted = paths.by_letters(conditions.wanted(step, "header,header-regex,cookie,query,path"))
        spec.routes = spec.routes and precedence.with_copies(step, kind, spec.routes, wanted)
        if not step.found and spec.tcpproxy and kind.is_ours(spec.tcpproxy) then
            error("the TCP proxy of an HTTPProxy cannot match anything: use traffic instead")
        end
    end,
    divide = function()
        local holders = {unpack(spec.routes or {})}
        table.insert(holders, spec.tcpproxy)
        for _, holder in ipairs(holders) do
            weights.divide(step, services, holder.services or {}, (without_mirrors(holder.services)))
        end
    end,
})
return obj.data

--@taken
-- An HTTPProxy that nobody has looked at is NotReconciled from its definition; no controller writes that.

return reports.verdict(obj, function(status)
    local valid = reports.condition(status.conditions, "Valid") or {}
    local words, first = status.description, (valid.errors or {})[1]
    if first then
        words = reports.words(first)
    end
    local nobody = (status.currentStatus or "NotReconciled") == "NotReconciled"
    return nobody and {} or {{
        name = "Contour", taken = status.currentStatus == "valid", generation = valid.observedGeneration, words = words,
    }}
end)
