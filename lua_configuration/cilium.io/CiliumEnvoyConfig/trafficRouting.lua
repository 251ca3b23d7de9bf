--@name Cilium CiliumEnvoyConfig
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@regex re2
--@use steps, tables, backends, weights, conditions, routes, shadows, paths
--
-- Divides the stable Service's own share of every route, or puts copies of those routes, bound to the step's matches and to
-- the new revision alone, right before them: the first that fits wins. An HTTPRoute is simpler, where there is one.
--
-- obj.params.scale: multiply the weights by this much.
-- obj.params.both: a step's matches and its traffic at once.

local ROUTES, CLUSTER = "envoy.config.route.v3.RouteConfiguration", "envoy.config.cluster.v3.Cluster"
local PATH_KEYS = {"prefix", "path", "safe_regex", "safeRegex", "path_separated_prefix", "pathSeparatedPrefix"}

local step = steps.of(obj)
local spec = step.spec

-- A cluster goes by <namespace>/<service>, with or without :<port>. Its name with the new Service; nil where it is another's.
local function renamed(name)
    local owner, service, port = (name or ""):match("^([^/]+)/([^:/]+)(:?.*)$")
    local ours = service == step.stable and steps.here(step, owner)
    return ours and owner .. "/" .. step.canary .. port or nil
end

-- Clusters with weights and routes have the same fields for changes of headers.
local function change_headers(holder, modifier)
    local options = holder.request_headers_to_add or {}
    for _, verb in ipairs({"set", "add"}) do
        local action = verb == "set" and "OVERWRITE_IF_EXISTS_OR_ADD" or "APPEND_IF_EXISTS_OR_ADD"
        for _, item in ipairs(modifier[verb] or {}) do
            table.insert(options, {header = {key = item.name, value = item.value}, append_action = action})
        end
    end
    holder.request_headers_to_add = #options > 0 and options or nil
    for _, name in ipairs(modifier.remove or {}) do
        holder.request_headers_to_remove = holder.request_headers_to_remove or {}
        table.insert(holder.request_headers_to_remove, name)
    end
end

local services = backends.of(step, {
    is_stable = function(entry) return renamed(entry.name) ~= nil end,
    canary = function(entry)
        local result = tables.copy(entry)
        result.name, result.weight = renamed(entry.name), nil
        return result
    end,
    address = function(entry) return entry.name end,
    headers = change_headers, without_weight = 0, most = 1000000000,
})

-- Envoy reads both spellings.
local function key_of(holder, snake, camel)
    return holder[camel] ~= nil and camel or snake
end

local function entries_of(action)
    local weighted = action and action[key_of(action, "weighted_clusters", "weightedClusters")]
    return weighted and weighted.clusters or (action and action.cluster and {{name = action.cluster, weight = 100}}) or {}
end

local function put_entries(action, entries)
    local key = key_of(action, "weighted_clusters", "weightedClusters")
    if #entries == 1 and action[key] == nil then
        action.cluster = entries[1].name
        return
    end
    action.cluster, action[key] = nil, action[key] or {}
    action[key].clusters = entries
    -- The total, where it is written, is checked against the sum.
    local total = key_of(action[key], "total_weight", "totalWeight")
    if action[key][total] ~= nil then
        action[key][total] = 0
        for _, entry in ipairs(entries) do
            action[key][total] = action[key][total] + (entry.weight or 0)
        end
    end
end

local function is_resource(resource, kind) return (resource["@type"] or ""):find(kind, 1, true) ~= nil end

local function cluster_like(resource, name)
    local twin = tables.copy(resource)
    local config = twin[key_of(twin, "eds_cluster_config", "edsClusterConfig")] or {}
    local key = key_of(config, "service_name", "serviceName")
    twin.name, config[key] = name, config[key] and (renamed(config[key]) or config[key])
    return twin
end

local function each_host(action)
    for _, resource in ipairs(spec.resources or {}) do
        if is_resource(resource, ROUTES) then
            for _, host in ipairs(resource[key_of(resource, "virtual_hosts", "virtualHosts")] or {}) do
                action(host)
            end
        end
    end
end

-- What is written out of the new Service: a cluster like each that the stable one has, and itself among the backends.
local function declare()
    local resources, clusters, twin, declared = {}, {}, nil, false
    for _, resource in ipairs(spec.resources or {}) do
        clusters[resource.name or ""] = is_resource(resource, CLUSTER) or nil
    end
    for _, resource in ipairs(spec.resources or {}) do
        table.insert(resources, resource)
        local name = is_resource(resource, CLUSTER) and renamed(resource.name)
        if name and not clusters[name] then
            table.insert(resources, cluster_like(resource, name))
        end
    end
    for _, backend in ipairs(spec.backendServices or {}) do
        local here = steps.here(step, backend.namespace)
        twin = here and backend.name == step.stable and tables.copy(backend) or twin
        declared = declared or (here and backend.name == step.canary)
    end
    if not declared then
        twin = twin or {namespace = step.namespace}
        twin.name, spec.backendServices = step.canary, spec.backendServices or {}
        table.insert(spec.backendServices, twin)
    end
    spec.resources = resources
end

local FORM = {
    exact = function(known)
        return not known.invert_match and (known.string_match or known.stringMatch or {}).exact
    end,
    write = function(condition)
        local value = condition.value
        return {name = condition.name, string_match = condition.regex and {safe_regex = {regex = value}} or {exact = value}}
    end,
    denied = function(known)
        local text = known.string_match or known.stringMatch or {}
        local regex = (text.safe_regex or text.safeRegex or {}).regex
        local all = known.present_match or known.presentMatch
        return (known.invert_match or known.invertMatch)
            and {all = all, value = text.exact or regex, regex = regex ~= nil, prefix = text.prefix} or nil
    end,
}

local function path_of(match)
    local any_case = match[key_of(match, "case_sensitive", "caseSensitive")] == false or nil
    local regex = match[key_of(match, "safe_regex", "safeRegex")]
    local parts = match[key_of(match, "path_separated_prefix", "pathSeparatedPrefix")]
    local kind = match.path and "Exact" or regex and "RegularExpression" or parts and "PathPrefix" or "Text"
    return {type = kind, value = match.path or (regex and regex.regex) or parts or match.prefix or "/", any_case = any_case}
end

local SHADOWS = {
    fields = {
        headers = "all", query_parameters = "all", queryParameters = "all", case_sensitive = "nothing",
        caseSensitive = "nothing", runtime_fraction = "never", runtimeFraction = "never",
    },
    path_of = path_of,
    matches_of = function(route) return {route.match or {}} end,
    leads_to = function(route) return shadows.main_of(entries_of(route.route)).name end,
}
for _, name in ipairs(PATH_KEYS) do
    SHADOWS.fields[name] = "nothing"
end

local ways = {
    match_of = function(route)
        route.match = route.match or {prefix = "/"}
        return route.match
    end,
    path_of = path_of,
    shadows = SHADOWS,
    set_path = function(match, path, route, own)
        local action = route.route or {}
        local key = key_of(action, "prefix_rewrite", "prefixRewrite")
        if action[key] then
            -- Envoy joins what it replaces and the rest of a path as they are.
            local prefix = own.type == "PathPrefix" and {type = "Text", value = own.value:gsub("/$", "")} or own
            local part = path.type == "PathPrefix" and {type = "Text", value = path.value:gsub("/$", "")} or path
            action[key] = paths.replacement(action[key], prefix, part)
        end
        for _, name in ipairs(PATH_KEYS) do
            match[name] = nil
        end
        match[key_of(match, "case_sensitive", "caseSensitive")] = nil
        if path.type == "RegularExpression" then
            match.safe_regex = {regex = path.value}
        else
            local key = path.type == "Exact" and "path" or path.value == "/" and "prefix" or "path_separated_prefix"
            match[key] = key == "path_separated_prefix" and path.value:gsub("/$", "") or path.value
        end
    end,
    add = function(match, condition)
        condition = conditions.cookie_as_header(condition)
        local field = condition.what == "query" and key_of(match, "query_parameters", "queryParameters") or "headers"
        match[field] = match[field] or {}
        -- Envoy's word for the method is a header; names of parameters are looked for like those of headers.
        local name = condition.what == "method" and ":method" or condition.name
        return conditions.add(match[field],
            {what = "header", name = name, value = condition.value, regex = condition.regex}, FORM)
    end,
    finish = function(route, _, before)
        route.name = route.name and route.name .. "-canary" .. (before > 0 and "-" .. before or "")
        local entries = weights.canary_entries(services, entries_of(route.route), 100)
        route.route[key_of(route.route, "weighted_clusters", "weightedClusters")] = nil
        put_entries(route.route, entries)
        if step.modifier ~= nil then
            change_headers(route, step.modifier)
        end
    end,
}

local function is_ours(route) return weights.has_stable(services, entries_of(route.route)) end

local function serves(route) return weights.has_share(step, services, entries_of(route.route)) end

steps.carry_out(step, {
    match = function()
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        each_host(function(host)
            host.routes = routes.with_copies(step, host.routes, serves, function(route)
                return routes.copies(step, route, wanted, ways)
            end)
        end)
        declare()
    end,
    divide = function()
        each_host(function(host)
            for _, route in ipairs(host.routes or {}) do
                local entries = entries_of(route.route)
                local added = weights.divide(step, services, entries)
                if added or (route.route and route.route.cluster == nil and is_ours(route)) then
                    put_entries(route.route, entries)
                end
            end
        end)
        if step.weight > 0 then
            declare()
        end
    end,
})
return obj.data
