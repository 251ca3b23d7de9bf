--@name Istio VirtualService
--@after networking.istio.io/DestinationRule
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--
-- Splits every route that points at the stable Service, or puts copies of those rules, bound to the step's matches and to
-- the new revision alone, right before them. What does not point at the stable Service is not touched.
--
-- obj.params.scale: multiply the weights of split rules by this much (default: 100 where a share would not be a whole
-- number of its own, else 1).

local CANARY_SUBSET = "canary"

local stable, canary = obj.stableService, obj.canaryService
local shared = stable == canary  -- one Service; a subset tells the revisions apart
local namespace = obj.object and obj.object.namespace
local params = obj.params or {}
local modifier = obj.requestHeaderModifier
local spec = obj.data.spec or {}

---------------------------------------------------------------------------------------------------- values

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

---------------------------------------------------------------------------------------------------- destinations

-- What follows a Service's name in a host: "" or ".<namespace>", ".<namespace>.svc", ".<namespace>.svc.<domain>".
-- nil where the host is not that Service.
local function suffix_of(host, service)
    if host == service then
        return ""
    end
    if type(host) ~= "string" or host:sub(1, #service + 1) ~= service .. "." then
        return nil
    end
    local suffix = host:sub(#service + 1)
    local owner, rest = suffix:match("^%.([^.]+)(.*)$")
    if owner == nil then
        return nil
    end
    -- Without a namespace given, the first label decides, as it always did.
    if namespace ~= nil and (owner ~= namespace or (rest ~= "" and rest ~= ".svc" and rest:sub(1, 5) ~= ".svc.")) then
        return nil
    end
    return suffix
end

local function points_at_canary(destination)
    if shared then
        return suffix_of(destination.host, stable) ~= nil and destination.subset == CANARY_SUBSET
    end
    return suffix_of(destination.host, canary) ~= nil
end

local function points_at_stable(destination)
    return suffix_of(destination.host, stable) ~= nil and not points_at_canary(destination)
end

-- The same destination for the new revision: port and form of the host are kept.
local function canary_destination(destination)
    local result = copy(destination)
    if shared then
        result.subset = CANARY_SUBSET
    else
        result.host = canary .. suffix_of(destination.host, stable)
        -- A subset belongs to the DestinationRule of its host; the canary Service has none of that name.
        result.subset = nil
    end
    return result
end

local function entries_of(rule, kind)
    local found = {}
    for index, entry in ipairs(rule.route or {}) do
        if entry.destination and kind(entry.destination) then
            table.insert(found, index)
        end
    end
    return found
end

---------------------------------------------------------------------------------------------------- header modifier

local function pairs_to_map(list, map)
    map = map or {}
    for _, header in ipairs(list) do
        map[header.name] = header.value
    end
    return map
end

-- Adds the step's header changes to `holder.headers.request`; what is there already stays.
local function modify_headers(holder)
    if modifier == nil then
        return
    end
    holder.headers = holder.headers or {}
    holder.headers.request = holder.headers.request or {}
    local request = holder.headers.request
    if modifier.set then
        request.set = pairs_to_map(modifier.set, request.set)
    end
    if modifier.add then
        request.add = pairs_to_map(modifier.add, request.add)
    end
    if modifier.remove then
        request.remove = request.remove or {}
        for _, name in ipairs(modifier.remove) do
            table.insert(request.remove, name)
        end
    end
end

---------------------------------------------------------------------------------------------------- weights

-- What an absent weight means: a destination alone has all; of several without any, each has the same; beside others that
-- have one, an absent weight is 0.
local function materialise(route)
    for _, entry in ipairs(route) do
        if entry.weight ~= nil then
            return
        end
    end
    local each = math.floor(100 / #route)
    for index, entry in ipairs(route) do
        entry.weight = index <= 100 - each * #route and each + 1 or each
    end
end

-- Whole numbers with the sum `total`, as near to the exact shares as can be.
local function largest_remainder(shares, total)
    local result, order, left = {}, {}, total
    for index, share in ipairs(shares) do
        result[index] = math.floor(share + 1e-9)
        left = left - result[index]
        order[index] = index
    end
    table.sort(order, function(a, b)
        local x, y = shares[a] - result[a], shares[b] - result[b]
        if math.abs(x - y) > 1e-9 then
            return x > y
        end
        return a < b
    end)
    for position = 1, left do
        local index = order[position]
        result[index] = result[index] + 1
    end
    return result
end

local function whole(value)
    return math.abs(value - math.floor(value + 0.5)) < 1e-9
end

-- What the weights are multiplied by: nothing where the step's share is a whole number already, else a hundred. Rounded, 10 %
-- of a weight of 5 would be nothing, and 5 % of 90 would be 4.4 %.
local function scale_for(total)
    return params.scale or (whole(total * obj.canaryWeight / 100) and 1 or 100)
end

-- One entry for the new revision per destination that differs; entries that are there already are used.
local function canary_entries(route, stable_entries, known)
    local groups = {}
    for _, index in ipairs(stable_entries) do
        local source = route[index]
        local destination = canary_destination(source.destination)
        local group
        for _, candidate in ipairs(groups) do
            if same(candidate.entry.destination, destination) then
                group = candidate
            end
        end
        if group == nil then
            group = {share = 0, own = 0}
            for _, at in ipairs(known) do
                if same(route[at].destination, destination) then
                    group.entry, group.known, group.own = route[at], true, route[at].weight or 0
                end
            end
            if group.entry == nil then
                group.entry = copy(source)
                group.entry.destination = destination
            end
            table.insert(groups, group)
        end
        group.share = group.share + (source.weight or 0)
        group.after = index
    end
    return groups
end

-- Gives stable and new entries their shares of `total`, every other entry what it had.
local function weigh(route, stable_entries, groups, stable_total, total)
    local scale = scale_for(total)
    local shares, holders = {}, {}
    for _, index in ipairs(stable_entries) do
        table.insert(shares, (route[index].weight or 0) / stable_total * total * scale * obj.stableWeight / 100)
        table.insert(holders, route[index])
    end
    for _, group in ipairs(groups) do
        table.insert(shares, group.share / stable_total * total * scale * obj.canaryWeight / 100)
        table.insert(holders, group.entry)
    end
    for _, entry in ipairs(route) do
        entry.weight = entry.weight and entry.weight * scale
    end
    for index, weight in ipairs(largest_remainder(shares, total * scale)) do
        holders[index].weight = weight
    end
end

-- Divides what the stable Service has in this rule; says whether it had anything.
local function split(rule, with_headers)
    local route = rule.route
    local stable_entries, known = entries_of(rule, points_at_stable), entries_of(rule, points_at_canary)
    materialise(route)
    local groups = canary_entries(route, stable_entries, known)
    local stable_total, total = 0, 0
    for _, group in ipairs(groups) do
        stable_total = stable_total + group.share
        total = total + group.share + group.own
    end
    if stable_total == 0 then
        return false
    end
    weigh(route, stable_entries, groups, stable_total, total)
    -- From the back, so that the places of the others stay what they are.
    table.sort(groups, function(a, b) return a.after > b.after end)
    for _, group in ipairs(groups) do
        if with_headers then
            modify_headers(group.entry)
        end
        if not group.known then
            table.insert(route, group.after + 1, group.entry)
        end
    end
    return true
end

---------------------------------------------------------------------------------------------------- matches

local VALUE_KEYS = {Exact = "exact", RegularExpression = "regex"}
local PATH_KEYS = {Exact = "exact", PathPrefix = "prefix", RegularExpression = "regex"}

local function string_match(condition, keys, default, what)
    local key = keys[condition.type or default]
    if key == nil then
        error("a VirtualService cannot match a " .. what .. " by type " .. tostring(condition.type))
    end
    return {[key] = condition.value}
end

-- The header of cookies, for one of them: `name=value`, or a name for the cookie that says `always`.
local function cookie_pattern(text)
    local function escape(part)
        return (part:gsub("[%^%$%(%)%.%[%]%*%+%?{}|\\]", "\\%0"))
    end
    local name, value = text:match("^([^=]+)=(.*)$")
    return "(^|.*;\\s*)" .. escape(name or text) .. "=" .. escape(value or "always") .. "(;.*|$)"
end

-- A match of the step in Istio's words. Header names are lower case on the wire; claims (@…) and :pseudo headers are not names.
local function conditions_of(match)
    local result = {}
    if match.path then
        result.uri = string_match({type = match.path.type, value = match.path.value or "/"}, PATH_KEYS, "PathPrefix", "path")
    end
    for _, header in ipairs(match.headers or {}) do
        local name, matcher = header.name, nil
        if name == "canary-by-cookie" then
            name, matcher = "cookie", {regex = cookie_pattern(header.value)}
        elseif not name:find("^[@:]") then
            name = name:lower()
        end
        result.headers = result.headers or {}
        result.headers[name] = matcher or string_match(header, VALUE_KEYS, "Exact", "header")
    end
    for _, parameter in ipairs(match.queryParams or {}) do
        result.queryParams = result.queryParams or {}
        result.queryParams[parameter.name] = string_match(parameter, VALUE_KEYS, "Exact", "query parameter")
    end
    if match.method then
        result.method = {exact = match.method}
    end
    if next(result) == nil then
        error("a match of this step has no condition")
    end
    return result
end

-- Adds wanted conditions on headers or query parameters to an entry's; false where both can never hold.
local function add_named(entry, kind, wanted)
    local present = {}
    for name in pairs(entry[kind] or {}) do
        present[kind == "headers" and not name:find("^[@:]") and name:lower() or name] = name
    end
    for name, condition in pairs(wanted) do
        local known = present[name] and entry[kind][present[name]]
        if known == nil then
            entry[kind] = entry[kind] or {}
            entry[kind][name] = condition
        elseif not same(known, condition) then
            if known.exact and condition.exact then
                return false
            end
            local noun = kind == "headers" and "header " or "query parameter "
            error("a rule already matches " .. noun .. name .. " in another way")
        end
    end
    return true
end

-- The same for the method.
local function add_method(entry, wanted)
    if wanted == nil or same(entry.method, wanted) then
        return true
    end
    if entry.method and entry.method.exact then
        return false
    elseif entry.method then
        error("a rule already matches the method in another way")
    end
    entry.method = copy(wanted)
    return true
end

-- The source's own match entries, each with the step's conditions on top; nil where none can hold.
local function combined(source_match, wanted)
    local entries = source_match
    if entries == nil or #entries == 0 then
        entries = {{}}
    end
    local result = {}
    for _, entry in ipairs(entries) do
        entry = copy(entry)
        if wanted.uri then
            -- A path is what the user asked for: it takes the place of the rule's own.
            entry.uri, entry.ignoreUriCase = copy(wanted.uri), nil
        end
        if add_method(entry, wanted.method)
            and add_named(entry, "headers", copy(wanted.headers or {}))
            and add_named(entry, "queryParams", copy(wanted.queryParams or {})) then
            local duplicate = false
            for _, known in ipairs(result) do
                duplicate = duplicate or same(known, entry)
            end
            if not duplicate then
                table.insert(result, entry)
            end
        end
    end
    return #result > 0 and result or nil
end

-- A copy of the rule that only the new revision serves; timeouts, retries, rewrites and the like stay.
local function canary_rule(rule, match, position, count)
    local result = copy(rule)
    result.match = match
    if rule.name then
        result.name = rule.name .. "-canary" .. (count > 1 and "-" .. position or "")
    end
    local stable_entries = entries_of(rule, points_at_stable)
    local route = {}
    for _, index in ipairs(stable_entries) do
        local entry = copy(rule.route[index])
        entry.destination = canary_destination(entry.destination)
        local group
        for _, candidate in ipairs(route) do
            if same(candidate.destination, entry.destination) then
                group = candidate
            end
        end
        if group then
            group.weight = (group.weight or 0) + (entry.weight or 0)
        else
            table.insert(route, entry)
        end
    end
    if #route == 1 then
        route[1].weight = nil
    end
    result.route = route
    modify_headers(result)
    return result
end

local function is_there(rules, match)
    for _, rule in ipairs(rules) do
        if rule.match and same(rule.match, match) then
            return true
        end
    end
    return false
end

-- Puts the copies before their source. Of several matches the last comes first: so the format's published test case has it.
local function insert_matches(matches)
    local wanted = {}
    for position, match in ipairs(matches) do
        wanted[position] = conditions_of(match)
    end
    local rules, found, inserted = {}, false, false
    for _, rule in ipairs(spec.http or {}) do
        if #entries_of(rule, points_at_stable) > 0 then
            found = true
            for position = #wanted, 1, -1 do
                local match = combined(rule.match, wanted[position])
                -- An equal match further up has taken those requests already.
                if match and not is_there(rules, match) then
                    table.insert(rules, canary_rule(rule, match, position, #wanted))
                end
                inserted = inserted or match ~= nil
            end
        end
        table.insert(rules, rule)
    end
    if found and not inserted then
        error("the matches of this step contradict the conditions of every rule that points at Service " .. stable)
    end
    spec.http = found and rules or spec.http
    return found
end

---------------------------------------------------------------------------------------------------- the step

local function any_stable(rules)
    for _, rule in ipairs(rules or {}) do
        if #entries_of(rule, points_at_stable) > 0 then
            return true
        end
    end
    return false
end

local function split_all()
    local found, divided = false, false
    if modifier ~= nil and not any_stable(spec.http) and (any_stable(spec.tls) or any_stable(spec.tcp)) then
        error("tls and tcp routes cannot change headers")
    end
    for _, protocol in ipairs({"http", "tls", "tcp"}) do
        for _, rule in ipairs(spec[protocol] or {}) do
            if #entries_of(rule, points_at_stable) > 0 then
                found = true
                divided = split(rule, protocol == "http") or divided
            end
        end
    end
    if found and not divided then
        error("every route of this VirtualService that points at Service " .. stable .. " has weight 0")
    end
    return found
end

local matches = obj.matches
local matching = matches ~= nil and #matches > 0
if matching then
    if not insert_matches(matches) then
        if any_stable(spec.tls) or any_stable(spec.tcp) then
            error("tls and tcp routes cannot match headers, paths or query parameters; use traffic instead")
        end
        error("no route of this VirtualService points at Service " .. stable)
    end
end
-- Matches win over a weight; params.both asks for the two at once.
if obj.canaryWeight >= 0 and (not matching or params.both) and not split_all() then
    error("no route of this VirtualService points at Service " .. stable)
end
return obj.data
