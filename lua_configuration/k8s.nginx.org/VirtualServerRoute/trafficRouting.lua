--@name NGINX VirtualServerRoute
--@can weight,header,header-regex,cookie,query,method,header-modifier
--
-- Divides what goes to upstreams of the stable Service, in routes and in their matches, or puts matches for the new revision
-- alone before those that go to stable; a request that fits none goes where it went. The new revision gets a copy of each
-- such upstream. Splits have a sum of 100 and whole numbers. VirtualServer has the same text.
--
-- Plain values are compared without regard to case here, so letters are written as an expression, which is exact.
-- obj.params.both: a step's matches and its traffic at once.

local KIND, MAX_WEIGHT = "VirtualServerRoute", 100
local CAN = {header = true, ["header-regex"] = true, cookie = true, query = true, method = true}

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

-- Names of upstreams of the stable Service, each with the name of its copy.
local twins = {}

local function proxied(action)
    return action and action.proxy and action.proxy.upstream
end

local function upstream_of(action)
    return action and (action.pass or proxied(action))
end

local function points_at_stable(entry)
    return twins[upstream_of(entry.action) or ""] ~= nil
end

local function canary_entry(entry)
    local result = copy(entry)
    result.weight = nil
    local action = result.action
    if action.pass then
        action.pass = twins[action.pass]
    else
        action.proxy.upstream = twins[action.proxy.upstream]
    end
    return result
end

local function address(entry)
    return upstream_of(entry.action)
end

local function modify_entry(entry)
    if modifier.add or modifier.remove then
        error("no " .. KIND .. " can add values to headers or remove headers: set them instead")
    end
    local action = entry.action
    if action.pass then
        action.proxy, action.pass = {upstream = action.pass}, nil
    end
    action.proxy.requestHeaders = action.proxy.requestHeaders or {}
    local headers = action.proxy.requestHeaders
    headers.set = headers.set or {}
    for _, header in ipairs(modifier.set or {}) do
        local at = #headers.set + 1
        for index, known in ipairs(headers.set) do
            at = known.name:lower() == header.name:lower() and index or at
        end
        headers.set[at] = copy(header)
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
-- shared: whole match
-- This gateway searches; an expression of the step has to match the whole text, as everywhere.
local function pattern_of(condition)
    return "^" .. (condition.regex and "(?:" .. condition.value .. ")" or escape(condition.value)) .. "$"
end
-- end

-- The upstreams with a copy of each of the stable Service behind it, where there is none yet.
local function with_copies()
    local result, by_name, declared = {}, {}, {}
    for _, upstream in ipairs(spec.upstreams or {}) do
        by_name[upstream.name] = upstream
        if upstream.service == canary then
            declared[tostring(upstream.port)] = upstream.name
        end
    end
    for _, upstream in ipairs(spec.upstreams or {}) do
        table.insert(result, upstream)
        if upstream.service == stable then
            local name = upstream.name .. "-canary"
            local namesake, there = by_name[name], declared[tostring(upstream.port)]
            if namesake and namesake.service ~= canary then
                error("an upstream named " .. name .. " is there already, for Service " .. tostring(namesake.service))
            end
            twins[upstream.name] = (namesake and name) or there or name
            if by_name[twins[upstream.name]] == nil then
                local twin = copy(upstream)
                twin.name, twin.service = name, canary
                table.insert(result, twin)
            end
        end
    end
    return result
end

local function routes()
    return spec.routes or spec.subroutes or {}
end

-- The entry of what a route or a match does: itself where it has one action, or the first of its splits that fits.
local function stable_entry(holder)
    for _, entry in ipairs(holder.splits or {holder}) do
        if points_at_stable(entry) then
            return entry
        end
    end
end

-- The value becomes a quoted text of NGINX, which reads two backslashes as one.
local function quoted(pattern)
    return "~" .. pattern:gsub("\\\\", "\\\\\\\\"):gsub('"', '\\"')
end

-- "~" stands for an expression and "!" for not, so that only what has neither, nor letters, can be said as it is.
local function value_of(text, regex)
    if not regex and not text:find("[%a~!]") then
        return text
    end
    return quoted(pattern_of({value = text, regex = regex}))
end

local FIELDS = {header = "header", cookie = "cookie", query = "argument"}

-- Names of cookies and arguments have letters, digits and _; what has others is looked for where all of them are.
local function native(condition)
    local what, name, value, regex = condition.what, condition.name, condition.value, condition.regex
    if what == "method" then
        return {variable = "$request_method", value = value_of(value)}
    elseif what == "header" or name:find("^[_%w]+$") then
        return {[FIELDS[what]] = name, value = value_of(value, regex)}
    elseif what == "cookie" then
        return {header = "cookie", value = quoted(cookie_pattern(condition))}
    end
    local pattern = regex and "(?:" .. value .. ")" or escape(value)
    return {variable = "$args", value = quoted("(^|&)" .. escape(name) .. "=" .. pattern .. "(&|$)")}
end

local function match_for(holder, base, conditions)
    local entry = canary_entry({action = stable_entry(holder).action})
    if modifier ~= nil then
        modify_entry(entry)
    end
    local result = {conditions = copy(base), action = entry.action}
    for _, condition in ipairs(conditions) do
        table.insert(result.conditions, native(condition))
    end
    done = true
    return result
end

local function match_all(steps)
    local upstreams, wanted = with_copies(), wanted_of(steps)
    for _, route in ipairs(routes()) do
        local list = {}
        local function insert_for(holder, base)
            if stable_entry(holder) then
                found = true
                for _, one in ipairs(wanted) do
                    table.insert(list, match_for(holder, base, one.conditions))
                end
            end
        end
        -- Matches come before what a route does otherwise, the first that fits first.
        for _, match in ipairs(route.matches or {}) do
            insert_for(match, match.conditions)
            table.insert(list, match)
        end
        insert_for(route, {})
        if #list > #(route.matches or {}) then
            route.matches = list
        end
    end
    spec.upstreams = found and upstreams or spec.upstreams
end

local function split_all()
    local upstreams = with_copies()
    for _, route in ipairs(routes()) do
        local holders = {unpack(route.matches or {})}
        table.insert(holders, route)
        for _, holder in ipairs(holders) do
            local splits = holder.splits or {{weight = 100, action = holder.action}}
            split(splits, 0)
            if #splits > 1 and holder.splits == nil then
                holder.splits, holder.action = splits, nil
            end
        end
    end
    if found and obj.canaryWeight > 0 then
        spec.upstreams = upstreams
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
