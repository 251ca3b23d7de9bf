--@name Cilium CiliumEnvoyConfig
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--
-- Divides the stable Service's own share of every route in the RouteConfigurations, or puts copies of those routes, bound to the
-- step's matches and to the new revision alone, right before them: the first that fits wins. The new Service becomes a
-- backend Service, with a cluster like the stable one's where that is written out. An HTTPRoute is simpler, where there is one.
--
-- obj.params.scale: multiply the weights by this much.
-- obj.params.both: a step's matches and its traffic at once.

local KIND, MAX_WEIGHT = "CiliumEnvoyConfig", 1000000000
local CAN = {header = true, ["header-regex"] = true, cookie = true, query = true, path = true, method = true}
local ROUTES, CLUSTER = "envoy.config.route.v3.RouteConfiguration", "envoy.config.cluster.v3.Cluster"

-- shared: step
local stable, canary = obj.stableService, obj.canaryService
local namespace = obj.object and obj.object.namespace
local params = obj.params or {}
local modifier = obj.requestHeaderModifier
local spec = obj.data.spec or {}
-- Whether some rule points at the stable Service, and whether the step could be carried out on one.
local found, done = false, false
-- end
-- shared: separate
if stable == canary then
    error("no " .. KIND .. " can tell revisions of one Service apart: the new one needs a Service of its own")
end
-- end
-- shared: copy
local function copy(value)
    if type(value) ~= "table" then
        return value
    end
    local result = {}
    for key, inner in next, value do
        result[key] = copy(inner)
    end
    return result
end
-- end
-- shared: same
local function same(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    end
    for key, value in next, a do
        if not same(value, b[key]) then
            return false
        end
    end
    for key in next, b do
        if a[key] == nil then
            return false
        end
    end
    return true
end
-- end
-- shared: namespace
-- A reference without a namespace means the object's own.
local function here(other)
    return other == nil or other == "" or namespace == nil or other == namespace
end
-- end

-- A cluster goes by <namespace>/<service>, with or without :<port>.
local function renamed(name)
    local owner, service, port = (name or ""):match("^([^/]+)/([^:/]+)(:?.*)$")
    if service ~= stable or not here(owner) then
        return nil
    end
    return owner .. "/" .. canary .. port
end

local function points_at_stable(entry)
    return renamed(entry.name) ~= nil
end

local function canary_entry(entry)
    local result = copy(entry)
    result.name, result.weight = renamed(entry.name), nil
    return result
end

local function address(entry)
    return entry.name
end

local function header_option(item, action)
    return {header = {key = item.name, value = item.value}, append_action = action}
end

-- Clusters with weights and routes have the same fields for changes of headers.
local function modify_entry(holder)
    local options = holder.request_headers_to_add or {}
    for _, item in ipairs(modifier.set or {}) do
        table.insert(options, header_option(item, "OVERWRITE_IF_EXISTS_OR_ADD"))
    end
    for _, item in ipairs(modifier.add or {}) do
        table.insert(options, header_option(item, "APPEND_IF_EXISTS_OR_ADD"))
    end
    holder.request_headers_to_add = #options > 0 and options or nil
    for _, name in ipairs(modifier.remove or {}) do
        holder.request_headers_to_remove = holder.request_headers_to_remove or {}
        table.insert(holder.request_headers_to_remove, name)
    end
end

-- shared: weights
-- Whole numbers with the sum `total`, as near to its parts as can be; what is more than nothing has at least one.
local function largest_remainder(parts, total)
    local result, left, least = {}, total, total >= #parts and 1 or 0
    for index, part in ipairs(parts) do
        result[index] = math.max(math.floor(part * total + 1e-9), part > 1e-9 and least or 0)
        left = left - result[index]
    end
    while left ~= 0 do
        local at, step = 1, left > 0 and 1 or -1
        for index, part in ipairs(parts) do
            local short = step > 0 and part * total - result[index] > parts[at] * total - result[at] + 1e-9
            at = (short or (step < 0 and result[index] > result[at])) and index or at
        end
        result[at], left = result[at] + step, left - step
    end
    return result
end

local function whole(value)
    return math.abs(value - math.floor(value + 0.5)) < 1e-9
end

-- Whether whole numbers say the step's share of `total` well enough: not wrong by more than half a percent of `sum`, or half
-- a hundredth where parts of a percent are asked for, and not nothing for something.
local function says(scale, total, sum)
    local all = total * scale
    local share = all * obj.canaryWeight / 100
    local rounded = math.floor(share + 0.5)
    local lost = (rounded == 0 and share > 0) or (rounded == all and share < all)
    return not lost and math.abs(share - rounded) * (whole(obj.canaryWeight) and 200 or 20000) <= sum * scale + 1e-9
end

-- What the weights are multiplied by: nothing if possible, else a hundred, or what makes their sum 100 or 10000.
local function scale_for(total, sum)
    local scales = {1, 100}
    if sum < 100 then
        scales = {1, 100, 100 / sum, 10000 / sum}
    end
    if params.scale and sum * params.scale > MAX_WEIGHT + 1e-9 then
        error("with params.scale the weights would be more than " .. MAX_WEIGHT .. ", which no " .. KIND .. " can say")
    end
    for _, scale in ipairs(params.scale and {params.scale} or scales) do
        if params.scale or (sum * scale <= MAX_WEIGHT + 1e-9 and says(scale, total, sum)) then
            return scale
        end
    end
    if not whole(obj.canaryWeight) then
        error("no " .. KIND .. " can say " .. obj.canaryWeight .. " % here: its weights are too small for parts of a percent")
    end
    return 1
end

-- The stable Service's entries by what stands for them in the new revision: a copy, or what is there under its address.
local function groups_of(entries, absent)
    local groups = {}
    for _, entry in ipairs(entries) do
        if points_at_stable(entry) then
            local twin, group = canary_entry(entry), nil
            for _, known in ipairs(groups) do
                group = address(known.twin) == address(twin) and known or group
            end
            if group == nil then
                group = {twin = twin, entry = twin, share = 0, own = 0, stables = {}}
                for _, other in ipairs(entries) do
                    if address(other) == address(twin) then
                        group.entry, group.known, group.own = other, true, other.weight or absent
                    end
                end
                table.insert(groups, group)
            end
            group.share = group.share + (entry.weight or absent)
            table.insert(group.stables, entry)
        end
    end
    return groups
end

-- Divides what the stable Service has among `entries`, of which only `parts` have shares; an entry without a weight has
-- `absent`. The sum stays. At 0 % nothing is added: some gateways drop a route over a backend that is not ready. Others want
-- to get to know a backend before it has a share: obj.announce.
local function split(entries, absent, parts)
    parts = parts or entries
    local groups = groups_of(parts, absent)
    local stable_total, total, sum, declared = 0, 0, 0, false
    for _, group in ipairs(groups) do
        stable_total, total = stable_total + group.share, total + group.share + group.own
        declared = declared or group.known
    end
    for _, entry in ipairs(parts) do
        sum = sum + (entry.weight or absent)
    end
    found, done = found or #groups > 0, done or total > 0
    if total == 0 or (obj.canaryWeight == 0 and not declared and not obj.announce) then
        return
    end
    if sum == total and total < 100 then
        -- Nobody else has a share: percentages are what a reader expects.
        total, sum = 100, 100
    end
    local scale = scale_for(total, sum)
    local holders, portions, ours, left = {}, {}, {}, math.floor(sum * scale + 0.5)
    local function hold(entry, part, percent)
        table.insert(holders, entry)
        table.insert(portions, part * percent / 100)
        ours[entry] = true
    end
    for _, group in ipairs(groups) do
        for _, entry in ipairs(group.stables) do
            -- Where all is declared to be the new revision's already, nothing says how stable was divided.
            local part = stable_total > 0 and (entry.weight or absent) / stable_total or 1 / #group.stables / #groups
            hold(entry, part, obj.stableWeight)
        end
    end
    for _, group in ipairs(groups) do
        hold(group.entry, stable_total > 0 and group.share / stable_total or 1 / #groups, obj.canaryWeight)
    end
    for _, entry in ipairs(parts) do
        if not ours[entry] then
            entry.weight = math.floor((entry.weight or absent) * scale + 0.5)
            left = left - entry.weight
        end
    end
    for index, weight in ipairs(largest_remainder(portions, left)) do
        holders[index].weight = weight
    end
    for _, group in ipairs(groups) do
        if modifier ~= nil then
            modify_entry(group.entry)
        end
        for index = #entries, 1, -1 do
            if not group.known and rawequal(entries[index], group.stables[#group.stables]) then
                table.insert(entries, index + 1, group.entry)
            end
        end
    end
end
-- end
-- shared: entries
-- The new revision's entries in a copy of a rule; other Services have no part in it.
local function canary_entries(entries)
    local result, groups = {}, groups_of(entries, 1)
    for _, group in ipairs(groups) do
        group.twin.weight = #groups > 1 and group.share or nil
        table.insert(result, group.twin)
    end
    return result
end
-- end
-- shared: conditions
local WORDS = {
    header = "headers", ["header-regex"] = "headers by regular expression", query = "query parameters",
    cookie = "cookies", method = "methods", path = "paths",
}

local function need(word)
    if not CAN[word] then
        error("no " .. KIND .. " can match " .. WORDS[word])
    end
end

local function condition_on(what, item)
    local kind = item.type or "Exact"
    if kind ~= "Exact" and kind ~= "RegularExpression" then
        error("no " .. KIND .. " can match " .. WORDS[what] .. " by type " .. kind)
    end
    local regex = kind == "RegularExpression"
    local name, value = item.name, item.value
    if what == "cookie" then
        -- As with Ingress classes, a name alone stands for the cookie that says "always".
        name, value = value:match("^([^=]+)=(.*)$")
        name, value = name or item.value, value or "always"
    end
    need((what == "header" and regex) and "header-regex" or what)
    return {what = what, name = name, value = value, regex = regex}
end

-- A match of the step: conditions that hold together, and a path or nil.
local function conditions_of(match)
    local result, path = {}, match.path
    for _, header in ipairs(match.headers or {}) do
        table.insert(result, condition_on(header.name == "canary-by-cookie" and "cookie" or "header", header))
    end
    for _, parameter in ipairs(match.queryParams or {}) do
        table.insert(result, condition_on("query", parameter))
    end
    if match.method then
        need("method")
        table.insert(result, {what = "method", value = match.method})
    end
    if path then
        need("path")
        path = {type = path.type or "PathPrefix", value = path.value or "/"}
        if path.type ~= "Exact" and path.type ~= "PathPrefix" and path.type ~= "RegularExpression" then
            error("no " .. KIND .. " can match paths by type " .. path.type)
        end
    elseif #result == 0 then
        error("a match of this step has no condition")
    end
    return result, path
end
-- end
-- shared: wanted
-- All matches of the step.
local function wanted_of(matches)
    local result = {}
    for position, match in ipairs(matches) do
        local conditions, path = conditions_of(match)
        result[position] = {conditions = conditions, path = path}
    end
    return result
end
-- end
-- shared: patterns
local function escape(text)
    return (text:gsub("[%^%$%(%)%.%[%]%*%+%?{}|\\]", "\\%0"))
end

-- A cookie as a pattern for the header that carries all of them.
local function cookie_pattern(condition)
    local value = condition.regex and "(" .. condition.value .. ")" or escape(condition.value)
    return "(^|.*;\\s*)" .. escape(condition.name) .. "=" .. value .. "(;.*|$)"
end
-- end
-- shared: once
local seen = {}

-- What a rule further up was given is not said again.
local function is_first(value)
    for _, known in ipairs(seen) do
        if same(known, value) then
            return false
        end
    end
    table.insert(seen, value)
    return true
end
-- end
-- shared: copies
-- Puts the copies that the new revision serves right before the rule they come from.
local function insert_copies(rules, is_ours, copies_of)
    local result = {}
    for _, rule in ipairs(rules) do
        if is_ours(rule) then
            found = true
            for _, twin in ipairs(copies_of(rule)) do
                done = true
                table.insert(result, twin)
            end
        end
        table.insert(result, rule)
    end
    return result
end
-- end

-- Envoy reads both spellings.
local function key_of(holder, snake, camel)
    return holder[camel] ~= nil and camel or snake
end

local function entries_of(action)
    local weighted = action[key_of(action, "weighted_clusters", "weightedClusters")]
    return weighted and weighted.clusters or (action.cluster and {{name = action.cluster, weight = 100}}) or {}
end

local function put_entries(action, entries)
    local key = key_of(action, "weighted_clusters", "weightedClusters")
    if #entries == 1 and action[key] == nil then
        action.cluster = entries[1].name
    else
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
end

local function each_host(action)
    for _, resource in ipairs(spec.resources or {}) do
        if (resource["@type"] or ""):find(ROUTES, 1, true) then
            for _, host in ipairs(resource[key_of(resource, "virtual_hosts", "virtualHosts")] or {}) do
                action(host)
            end
        end
    end
end

-- What the new Service's clusters need: the Service among the backends, and a cluster like the stable one's.
local function declare()
    local resources, clusters = {}, {}
    for _, resource in ipairs(spec.resources or {}) do
        clusters[resource.name or ""] = (resource["@type"] or ""):find(CLUSTER, 1, true) and true or nil
    end
    for _, resource in ipairs(spec.resources or {}) do
        table.insert(resources, resource)
        local name = (resource["@type"] or ""):find(CLUSTER, 1, true) and renamed(resource.name)
        if name and not clusters[name] then
            local twin = copy(resource)
            twin.name = name
            local key = key_of(twin, "eds_cluster_config", "edsClusterConfig")
            local inner = twin[key] and key_of(twin[key], "service_name", "serviceName")
            if inner and twin[key][inner] then
                twin[key][inner] = renamed(twin[key][inner]) or twin[key][inner]
            end
            table.insert(resources, twin)
        end
    end
    spec.resources = resources
    local twin, known
    for _, backend in ipairs(spec.backendServices or {}) do
        if backend.name == stable and here(backend.namespace) then
            twin = copy(backend)
            twin.name = canary
        end
        known = known or (backend.name == canary and here(backend.namespace))
    end
    if not known then
        spec.backendServices = spec.backendServices or {}
        table.insert(spec.backendServices, twin or {name = canary, namespace = namespace})
    end
end

local function string_match(condition)
    return condition.regex and {safe_regex = {regex = condition.value}} or {exact = condition.value}
end

local function conflicts(list, key, name, wanted)
    for _, known in ipairs(list) do
        if known.name:lower() == name:lower() then
            local text = known[key] or known[key == "string_match" and "stringMatch" or key]
            if text and text.exact and wanted.exact and not known.invert_match then
                return text.exact ~= wanted.exact and "never" or "there"
            end
        end
    end
    return nil
end

-- Adds a condition; false where it can never hold together with what is there.
local function add(match, condition)
    local what, name, wanted = condition.what, condition.name, nil
    if what == "cookie" then
        what, name, wanted = "header", "cookie", {safe_regex = {regex = cookie_pattern(condition)}}
    elseif what == "method" then
        what, name, wanted = "header", ":method", {exact = condition.value}
    else
        wanted = string_match(condition)
    end
    local field = what == "query" and key_of(match, "query_parameters", "queryParameters") or "headers"
    match[field] = match[field] or {}
    local known = conflicts(match[field], "string_match", name, wanted)
    if known == nil then
        table.insert(match[field], {name = name, string_match = wanted})
    end
    return known ~= "never"
end

local PATH_KEYS = {"prefix", "path", "safe_regex", "safeRegex", "path_separated_prefix", "pathSeparatedPrefix"}

local function set_path(match, path)
    for _, key in ipairs(PATH_KEYS) do
        match[key] = nil
    end
    if path.type == "Exact" then
        match.path = path.value
    elseif path.type == "RegularExpression" then
        match.safe_regex = {regex = path.value}
    elseif path.value == "/" then
        match.prefix = "/"
    else
        match.path_separated_prefix = (path.value:gsub("/$", ""))
    end
end

local function copies_of(route, wanted)
    local result = {}
    for _, one in ipairs(wanted) do
        local twin = copy(route)
        twin.match = twin.match or {prefix = "/"}
        twin.name = route.name and route.name .. "-canary" .. (#result > 0 and "-" .. #result or "") or nil
        local possible = true
        if one.path then
            set_path(twin.match, one.path)
        end
        for _, condition in ipairs(one.conditions) do
            possible = add(twin.match, condition) and possible
        end
        if possible and is_first(twin.match) then
            local entries = canary_entries(entries_of(route.route))
            twin.route[key_of(twin.route, "weighted_clusters", "weightedClusters")] = nil
            for _, entry in ipairs(entries) do
                entry.weight = entry.weight or 100
            end
            if #entries == 1 then
                twin.route.cluster = entries[1].name
            else
                put_entries(twin.route, entries)
            end
            if modifier ~= nil then
                modify_entry(twin)
            end
            table.insert(result, twin)
        end
    end
    return result
end

local function is_ours(route)
    return route.route ~= nil and #groups_of(entries_of(route.route), 0) > 0
end

local function match_all(matches)
    local wanted = wanted_of(matches)
    each_host(function(host)
        host.routes = insert_copies(host.routes or {}, is_ours, function(route) return copies_of(route, wanted) end)
    end)
    declare()
end

local function split_all()
    each_host(function(host)
        for _, route in ipairs(host.routes or {}) do
            local entries = route.route and entries_of(route.route) or {}
            local before = #entries
            split(entries, 0)
            if #entries > before or (route.route and route.route.cluster == nil and is_ours(route)) then
                put_entries(route.route, entries)
            end
        end
    end)
    if obj.canaryWeight > 0 then
        declare()
    end
end

-- shared: run
local function finish(problem)
    if not found then
        error("no rule of this " .. KIND .. " points at Service " .. stable)
    elseif not done then
        error(problem .. " Service " .. stable)
    end
end

local matching = obj.matches ~= nil and #obj.matches > 0
if matching then
    match_all(obj.matches)
    finish("the matches of this step contradict the conditions of every rule that points at")
end
-- Matches win over a weight; params.both asks for the two at once.
if obj.canaryWeight >= 0 and (not matching or params.both) then
    found, done = false, false
    split_all()
    finish("nothing has a weight above 0 in the rules that point at")
end
return obj.data
-- end
