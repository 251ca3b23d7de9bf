--@name Gloo RouteTable
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--
-- Divides the stable Service's own share of every route that leads to it, or puts copies of those routes, bound to the step's
-- matches and to the new revision alone, right before them: the first that fits wins. Upstream groups have a script of
-- their own. VirtualService has the same text.
--
-- obj.params.scale: multiply the weights of divided routes by this much.
-- obj.params.both: a step's matches and its traffic at once.

local KIND, MAX_WEIGHT = "RouteTable", 1000000000
local CAN = {header = true, ["header-regex"] = true, cookie = true, query = true, path = true, method = true}

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
-- shared: gloo
-- A destination is a Service by reference, or the upstream that discovery names <namespace>-<service>-<port>.
local function upstream_port(destination)
    local name, prefix = (destination.upstream or {}).name or "", tostring(namespace) .. "-" .. stable .. "-"
    return name:sub(1, #prefix) == prefix and name:sub(#prefix + 1):match("^%d+$")
end

local function is_stable(destination)
    local ref = destination.kube and destination.kube.ref
    return (ref and ref.name == stable and here(ref.namespace)) or upstream_port(destination)
end

local function points_at_stable(entry)
    return entry.destination and is_stable(entry.destination)
end

local function canary_destination(destination)
    local result = copy(destination)
    if result.kube then
        result.kube.ref.name = canary
    else
        result.upstream.name = tostring(namespace) .. "-" .. canary .. "-" .. upstream_port(destination)
    end
    return result
end

local function canary_entry(entry)
    local result = copy(entry)
    result.destination, result.weight = canary_destination(entry.destination), nil
    return result
end

local function address(entry)
    local destination = entry.destination or {}
    local kube = destination.kube
    if kube then
        return here(kube.ref.namespace) and tostring(kube.ref.name) .. ":" .. tostring(kube.port)
    end
    return (destination.upstream or {}).name
end

-- A route's options, and a weighted destination's, change headers alike.
local function modify_entry(holder)
    holder.options = holder.options or {}
    local change = holder.options.headerManipulation or {}
    holder.options.headerManipulation = change
    local function put(header, append)
        change.requestHeadersToAdd = change.requestHeadersToAdd or {}
        local list = change.requestHeadersToAdd
        local at = #list + 1
        for index, known in ipairs(list) do
            at = known.header and known.header.key:lower() == header.name:lower() and index or at
        end
        list[at] = {header = {key = header.name, value = header.value}, append = append}
    end
    for _, header in ipairs(modifier.set or {}) do
        put(header, false)
    end
    for _, header in ipairs(modifier.add or {}) do
        put(header, true)
    end
    for _, name in ipairs(modifier.remove or {}) do
        local list, there = change.requestHeadersToRemove or {}, false
        for _, known in ipairs(list) do
            there = there or known == name
        end
        if not there then
            table.insert(list, name)
        end
        change.requestHeadersToRemove = list
    end
end
-- end
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
-- shared: methods
-- Leaves one method; false where it was not among those that were there.
local function narrow_methods(holder, method)
    local allowed = holder.methods == nil or #holder.methods == 0
    for _, known in ipairs(holder.methods or {}) do
        allowed = allowed or known == method
    end
    holder.methods = {method}
    return allowed
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

-- Routes of a VirtualService are those of its virtual host.
local function holder_of_routes()
    return spec.virtualHost or spec
end

-- The weighted destinations of a route; one alone has all.
local function entries_of(route)
    local action = route.routeAction or {}
    return action.multi and action.multi.destinations or {action.single and {weight = 100, destination = action.single}}
end

local FIELDS = {header = "headers", query = "queryParameters"}

-- Adds a condition; false where it can never hold together with what is there.
local function add(matcher, condition)
    local what, name, value, regex = condition.what, condition.name, condition.value, condition.regex
    if what == "method" then
        return narrow_methods(matcher, value)
    elseif what == "cookie" then
        what, name, value, regex = "header", "cookie", cookie_pattern(condition), true
    end
    local field = FIELDS[what]
    for _, known in ipairs(matcher[field] or {}) do
        local alike = known.name == name or (what == "header" and known.name:lower() == name:lower())
        if alike and known.value and not known.regex and not known.invertMatch and not regex then
            return known.value == value
        end
    end
    matcher[field] = matcher[field] or {}
    table.insert(matcher[field], {name = name, value = value, regex = regex or nil})
    return true
end

local PATH_KEYS = {Exact = "exact", PathPrefix = "prefix", RegularExpression = "regex"}

local function set_path(matcher, path, route)
    local key = PATH_KEYS[path.type]
    if key == "regex" and route.options and route.options.prefixRewrite then
        error("a route that rewrites its prefix cannot match a path by type " .. path.type)
    end
    matcher.prefix, matcher.exact, matcher.regex = nil, nil, nil
    matcher[key] = path.value
end

-- Alternatives are matchers of one route, each of the source's with each of the step's.
local function copies_of(route, wanted)
    local matchers, sources = {}, route.matchers
    for _, one in ipairs(wanted) do
        for _, source in ipairs(sources and #sources > 0 and sources or {{prefix = "/"}}) do
            local matcher, possible = copy(source), true
            if one.path then
                set_path(matcher, one.path, route)
            end
            for _, condition in ipairs(one.conditions) do
                possible = possible and add(matcher, condition)
            end
            if possible and is_first(matcher) then
                table.insert(matchers, matcher)
            end
        end
    end
    if #matchers == 0 then
        return {}
    end
    local result, entries = copy(route), canary_entries(entries_of(route))
    result.matchers = matchers
    result.name = route.name and route.name .. "-canary"
    if #entries == 1 and entries[1].options == nil then
        result.routeAction = {single = entries[1].destination}
    else
        for _, entry in ipairs(entries) do
            entry.weight = entry.weight or 100
        end
        result.routeAction = {multi = {destinations = entries}}
    end
    if modifier ~= nil then
        modify_entry(result)
    end
    return {result}
end

local function is_ours(route)
    return #groups_of(entries_of(route), 0) > 0
end

local function match_all(matches)
    local wanted, holder = wanted_of(matches), holder_of_routes()
    holder.routes = insert_copies(holder.routes or {}, is_ours, function(route) return copies_of(route, wanted) end)
end

local function split_all()
    for _, route in ipairs(holder_of_routes().routes or {}) do
        local entries = entries_of(route)
        split(entries, 0)
        if #entries > 1 and route.routeAction.single then
            route.routeAction.multi, route.routeAction.single = {destinations = entries}, nil
        end
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
