--@name Kuma TrafficRoute
--@can weight,subpercent,header,header-regex,cookie,path,method,header-modifier
--
-- Divides the share of the stable Service's tag in the configuration and in its HTTP rules, or puts rules for the new revision
-- alone before them: the first that fits wins. Cluster-scoped, so only with the controller's flag for such kinds;
-- Kuma 3 ignores it: a MeshHTTPRoute is its successor.
--
-- obj.params.scale: multiply the weights by this much.
-- obj.params.both: a step's matches and its traffic at once.

local KIND, MAX_WEIGHT = "TrafficRoute", 1000000000
local CAN = {header = true, ["header-regex"] = true, cookie = true, path = true, method = true}
local TAG = "kuma.io/service"

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

-- The tag of a Service is <service>_<namespace>_svc_<port>.
local function named(entry, service)
    local tag = ((entry.destination or {})[TAG] or ""):match("^(.-)_([^_]+)_svc")
    local owner = ((entry.destination or {})[TAG] or ""):match("^.-_([^_]+)_svc")
    return tag == service and (namespace == nil or owner == namespace)
end

local function points_at_stable(entry)
    return named(entry, stable)
end

local function canary_entry(entry)
    local result = copy(entry)
    result.destination[TAG] = canary .. result.destination[TAG]:sub(#stable + 1)
    result.weight = nil
    return result
end

local function address(entry)
    local destination = entry.destination or {}
    return tostring(destination[TAG]) .. ":" .. tostring(destination.version)
end

-- Where rules of HTTP say what is to be done with headers.
local function modify_entry(rule)
    rule.modify = rule.modify or {}
    rule.modify.requestHeaders = rule.modify.requestHeaders or {}
    local lists = rule.modify.requestHeaders
    for _, item in ipairs(modifier.set or {}) do
        lists.add = lists.add or {}
        table.insert(lists.add, {name = item.name, value = item.value, append = false})
    end
    for _, item in ipairs(modifier.add or {}) do
        lists.add = lists.add or {}
        table.insert(lists.add, {name = item.name, value = item.value, append = true})
    end
    for _, name in ipairs(modifier.remove or {}) do
        lists.remove = lists.remove or {}
        table.insert(lists.remove, {name = name})
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

if spec.conf == nil then
    error("this TrafficRoute has no conf")
end

-- What the configuration, or a rule of it, leads to.
local function entries_of(holder)
    return holder.split or (holder.destination and {{weight = 100, destination = holder.destination}}) or {}
end

local function put_entries(holder, entries)
    if #entries == 1 then
        holder.destination, holder.split = entries[1].destination, nil
    else
        holder.destination, holder.split = nil, entries
    end
end

local function split_holder(holder)
    local entries = entries_of(holder)
    local before = #entries
    if modifier ~= nil and #groups_of(entries, 0) > 0 then
        error("no TrafficRoute can change headers for a share of the requests")
    end
    split(entries, 0)
    if #entries > before then
        put_entries(holder, entries)
    end
end

local function split_all()
    for _, rule in ipairs(spec.conf.http or {}) do
        split_holder(rule)
    end
    split_holder(spec.conf)
end

local function matcher_of(condition)
    return {[condition.regex and "regex" or "exact"] = condition.value}
end

local PATH_KEYS = {Exact = "exact", PathPrefix = "prefix", RegularExpression = "regex"}

-- The rule's own match with one alternative of the step's on top; nil where the two can never hold together.
local function narrowed(match, one)
    local result = copy(match or {})
    if one.path then
        result.path = {[PATH_KEYS[one.path.type]] = one.path.value}
    end
    for _, condition in ipairs(one.conditions) do
        if condition.what == "method" then
            if result.method and result.method.exact ~= condition.value then
                return nil
            end
            result.method = {exact = condition.value}
        else
            local name, wanted = condition.name:lower(), matcher_of(condition)
            if condition.what == "cookie" then
                name, wanted = "cookie", {regex = cookie_pattern(condition)}
            end
            result.headers = result.headers or {}
            local known = result.headers[name]
            if known and known.exact and wanted.exact and known.exact ~= wanted.exact then
                return nil
            elseif known and (known.exact ~= wanted.exact or known.regex ~= wanted.regex or known.prefix) then
                error("a rule already matches header " .. name)
            end
            result.headers[name] = wanted
        end
    end
    return result
end

local function copies_of(holder, wanted)
    local result = {}
    local entries = canary_entries(entries_of(holder))
    if #entries == 0 then
        return result
    end
    found = true
    for _, one in ipairs(wanted) do
        local match = narrowed(holder.match, one)
        if match then
            local rule = {match = match, modify = copy(holder.modify)}
            for _, entry in ipairs(entries) do
                entry.weight = entry.weight or 100
            end
            put_entries(rule, copy(entries))
            if modifier ~= nil then
                modify_entry(rule)
            end
            table.insert(result, rule)
            done = true
        end
    end
    return result
end

local function match_all(matches)
    local wanted, rules = wanted_of(matches), {}
    for _, rule in ipairs(spec.conf.http or {}) do
        for _, twin in ipairs(copies_of(rule, wanted)) do
            table.insert(rules, twin)
        end
        table.insert(rules, rule)
    end
    -- Whatever no rule matches goes where the configuration leads: its copies come last.
    for _, twin in ipairs(copies_of({destination = spec.conf.destination, split = spec.conf.split}, wanted)) do
        table.insert(rules, twin)
    end
    spec.conf.http = rules
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
