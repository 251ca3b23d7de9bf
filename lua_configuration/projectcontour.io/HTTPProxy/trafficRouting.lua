--@name Contour HTTPProxy
--@can weight,subpercent,header,header-regex,cookie,query,path,header-modifier
--@announce
--
-- Divides the stable Service's own share of every route, the TCP proxy's included, or puts copies of those routes, bound to
-- the step's matches and to the new revision alone, before them. Conditions of a route hold together, so each alternative
-- is a route of its own; Contour goes by how specific they are, not by their order. Mirrors are never divided.
-- A rule for others over which a copy would win gets a guard, a copy that leads where it leads.
--
-- obj.params.scale: multiply the weights of divided routes by this much.
-- obj.params.both: a step's matches and its traffic at once.

local KIND, MAX_WEIGHT = "HTTPProxy", 1000000000
local CAN = {header = true, ["header-regex"] = true, cookie = true, query = true, path = true}

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

-- Services are of the proxy's own namespace.
local function is_service(entry)
    return not entry.mirror
end

-- shared: named
local function points_at_stable(entry)
    return is_service(entry) and entry.name == stable
end

local function canary_entry(entry)
    local result = copy(entry)
    result.name, result.weight = canary, nil
    return result
end

local function address(entry)
    return is_service(entry) and entry.name .. ":" .. tostring(entry.port)
end
-- end

local function put(list, item)
    for index, known in ipairs(list) do
        if known.name:lower() == item.name:lower() then
            list[index] = item
            return
        end
    end
    table.insert(list, item)
end

-- A route's or a Service's policy: the two have one shape.
local function modify_entry(holder)
    if modifier.add then
        error("no HTTPProxy can add values to headers: set or remove them instead")
    end
    local policy = holder.requestHeadersPolicy or {}
    holder.requestHeadersPolicy = policy
    for _, header in ipairs(modifier.set or {}) do
        policy.set = policy.set or {}
        put(policy.set, copy(header))
    end
    for _, name in ipairs(modifier.remove or {}) do
        policy.remove = policy.remove or {}
        local there = false
        for _, known in ipairs(policy.remove) do
            there = there or known:lower() == name:lower()
        end
        if not there then
            table.insert(policy.remove, name)
        end
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
-- shared: uneven
-- What an entry without a weight has: of several without any each has the same, beside others that have one it has nothing.
local function absent_in(entries)
    for _, entry in ipairs(entries) do
        if entry.weight ~= nil then
            return 0
        end
    end
    return 1
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

local function without_mirrors(services)
    local parts = {}
    for _, entry in ipairs(services or {}) do
        if not entry.mirror then
            table.insert(parts, entry)
        end
    end
    return parts
end

local PATH_KEYS = {Exact = "exact", PathPrefix = "prefix", RegularExpression = "regex"}

-- The step's path in the place of the route's own.
local function with_path(conditions, path, route)
    local key = PATH_KEYS[path.type]
    if key ~= "prefix" and route.pathRewritePolicy and route.pathRewritePolicy.replacePrefix then
        error("a route that replaces its prefix cannot match a path by type " .. path.type)
    end
    local result = {{[key] = path.value}}
    for _, condition in ipairs(conditions) do
        condition.prefix, condition.exact, condition.regex = nil, nil, nil
        if next(condition) ~= nil then
            table.insert(result, condition)
        end
    end
    return result
end

-- Adds a condition; false where it can never hold together with what is there.
local function add(conditions, condition)
    local what, name, value, regex = condition.what, condition.name, condition.value, condition.regex
    if what == "cookie" then
        what, name, value, regex = "header", "cookie", cookie_pattern(condition), true
    end
    local field = what == "query" and "queryParameter" or "header"
    for _, known in ipairs(conditions) do
        local other = known[field]
        if other and other.name:lower() == name:lower() then
            if regex and other.regex == value then
                return true
            elseif not regex and other.exact then
                return other.exact == value
            end
        end
    end
    table.insert(conditions, {[field] = {name = name, [regex and "regex" or "exact"] = value}})
    return true
end

local TYPES = {
    exact = "1", notexact = "1", regex = "2", prefix = "3", suffix = "4", contains = "5", notcontains = "5", present = "6",
    notpresent = "6",
}

-- A condition as it is compared with others where their number is the same: by name, sort and value, the plain before the not.
local function text_of(named)
    for kind, order in pairs(TYPES) do
        local value = named[kind]
        if value ~= nil and value ~= false then
            return table.concat({named.name, order, tostring(value), kind:find("^not") and "1" or "0"}, "\1")
        end
    end
    return named.name
end

local function path_of(conditions)
    for _, condition in ipairs(conditions) do
        for kind, key in pairs(PATH_KEYS) do
            if condition[key] then
                return {type = kind, value = condition[key]}
            end
        end
    end
    return {type = "PathPrefix", value = "/"}
end

local CLASSES = {PathPrefix = 0, RegularExpression = 1, Exact = 2}

-- What decides between routes that hold for one request, in this order.
local function rank(conditions)
    local path, texts = path_of(conditions), {header = {}, queryParameter = {}}
    for _, condition in ipairs(conditions) do
        for field, list in pairs(texts) do
            if condition[field] then
                table.insert(list, text_of(condition[field]))
            end
        end
    end
    table.sort(texts.header)
    return {
        CLASSES[path.type], #path.value, #texts.header, #texts.queryParameter,
        table.concat(texts.header, "\2") .. "\3" .. table.concat(texts.queryParameter, "\2"),
    }
end

local function size(conditions)
    local found = rank(conditions)
    return found[3] + found[4]
end

local function with_path_of(conditions, path)
    return with_path(copy(conditions), path, {})
end

-- Whether two conditions on one header or parameter never hold together.
local function excludes(a, b)
    if a.name:lower() ~= b.name:lower() or a.ignoreCase or b.ignoreCase then
        return false
    end
    local missing = (a.notpresent and not b.notpresent and b) or (b.notpresent and not a.notpresent and a)
    return (a.exact and b.exact and a.exact ~= b.exact) or (missing and missing.exact ~= nil) or (missing and missing.present)
        or false
end

-- The conditions of a route with a copy's path and conditions on top; nil where the two never hold together.
local function joined(known, made)
    local result = copy(known.match)
    if not same(path_of(result), path_of(made.match)) then
        if made.path and known.replaces then
            error("the path of this step would have to be taken from a route for others that replaces its prefix")
        end
        result = with_path_of(result, path_of(made.match))
    end
    for _, condition in ipairs(made.match) do
        local there = condition.header == nil and condition.queryParameter == nil
        for _, own in ipairs(result) do
            for _, field in ipairs({"header", "queryParameter"}) do
                if condition[field] and own[field] and excludes(condition[field], own[field]) then
                    return nil
                end
            end
            there = there or same(own, condition)
        end
        if not there then
            table.insert(result, copy(condition))
        end
    end
    return result
end

-- shared: guards
local MAX_GUARDS = 128

-- Whether everything below one path is below the other; of expressions only that they are the same can be told.
local function covers(outer, inner)
    local start = outer.value:gsub("/$", "")
    if (outer.type == inner.type and outer.value == inner.value) or (outer.type == "PathPrefix" and start == "") then
        return true
    elseif outer.type ~= "PathPrefix" or inner.type == "RegularExpression" then
        return false
    end
    return inner.value == start or inner.value:sub(1, #start + 1) == start .. "/"
end

-- Which of two ranks wins; nil where the order of the rules decides. Of texts the first in the alphabet.
local function higher(one, other)
    for at, value in ipairs(one) do
        if value ~= other[at] then
            if type(value) == "string" then
                return value < other[at]
            end
            return value > other[at]
        end
    end
    return nil
end

-- A match of the rule of this number.
local function known_of(index, match, ours, replaces)
    return {index = index, match = match, ours = ours, replaces = replaces, rank = rank(match), place = path_of(match)}
end

-- A match that goes before the rule of this number, made of one of the rule's, with the step's path where it has one.
local function made_of(index, base, match, path)
    local result = known_of(index, match, true)
    result.path, result.base_rank = path, rank(base)
    result.asked_rank = path and rank(with_path_of(base, path)) or result.base_rank
    return result
end

-- Whether a match won over what was copied, by more than a path in whose place the step puts its own.
local function came_before(known, made)
    local one, other = known.rank, made.base_rank
    local first = higher(one, other)
    if first == nil then
        first = known.index < made.index
    end
    return (first and one[1] == other[1] and one[2] == other[2]) or higher(one, made.asked_rank) == true
end

local function takes_from(made, known)
    local first = higher(made.rank, known.rank)
    if first == nil then
        return made.index < known.index
    end
    return first
end

-- Whether whatever one match asks for, another asks for as well.
local function within(part, all)
    if type(part) ~= "table" or type(all) ~= "table" then
        return part == all
    end
    for key, value in next, part do
        local there = #part == 0 and within(value, all[key])
        for _, other in ipairs(#part > 0 and all or {}) do
            there = there or same(value, other)
        end
        if not there then
            return false
        end
    end
    return true
end

-- Whether a copy of the same rule wins by itself already.
local function is_settled(list, new, made)
    for _, one in ipairs(list) do
        if one.index == new.index and not one.idle and within(one.match, new.match)
            and (takes_from(one, made) or same(one.match, new.match)) then
            return true
        end
    end
    return false
end

-- Where the most specific rule wins, a copy may win over a rule that came before its source. Such a rule gets a guard: a copy
-- of it with the other's conditions on top of its own, which leads where the rule leads. A guard may win over others in turn,
-- so this goes on until nothing is missing. A copy under which nobody's requests are left is idle.
local function add_guards(list, known)
    local at, copies, by_place = 1, #list, {}
    for _, one in ipairs(known) do
        local place = one.place.type .. one.place.value
        by_place[place] = by_place[place] or {}
        table.insert(by_place[place], one)
    end
    while list[at] do
        local made = list[at]
        -- Rules of other paths win or lose as they did, unless the step has a path of its own.
        for _, other in ipairs(made.path and known or by_place[made.place.type .. made.place.value]) do
            local meets = not made.idle and other.index ~= made.index
                and came_before(other, made) and takes_from(made, other) and covers(other.place, made.place)
            local match = meets and joined(other, made)
            if match then
                local guard = made_of(other.index, other.match, match, made.path)
                guard.ours, made.idle = other.ours, size(match) == size(made.match)
                if (other.ours or not same(match, other.match)) and not is_settled(list, guard, made) then
                    table.insert(list, guard)
                end
            end
        end
        at = at + 1
        if #list - copies > MAX_GUARDS then
            error("more than " .. MAX_GUARDS .. " matches would be needed to leave other rules their requests: "
                .. "fewer matches in one step")
        end
    end
end

-- The copies and guards that go before a rule; whether the new revision gets something.
local function made_for(list, index)
    local result = {}
    for _, made in ipairs(list) do
        if made.index == index and not made.idle then
            table.insert(result, made.match)
            done = done or made.ours
        end
    end
    return result
end

local function check_idle(list)
    if #list > 0 and not done then
        error("all requests that match this step are those of rules that lead elsewhere than to Service " .. stable)
    end
end
-- end

local function conditions_for(route, one)
    local conditions, possible = copy(route.conditions or {}), true
    if one.path then
        conditions = with_path(conditions, one.path, route)
    end
    for _, condition in ipairs(one.conditions) do
        possible = possible and add(conditions, condition)
    end
    if possible and same(conditions, route.conditions or {}) then
        error("a route has the conditions of this step already, and there cannot be two of them")
    end
    return possible and is_first(conditions) and conditions or nil
end

local function copy_of(route, conditions, ours)
    local twin = copy(route)
    twin.conditions = conditions
    if not ours then
        return twin
    end
    twin.services = canary_entries(without_mirrors(route.services))
    for _, entry in ipairs(route.services) do
        if entry.mirror then
            table.insert(twin.services, copy(entry))
        end
    end
    if modifier ~= nil then
        modify_entry(twin)
    end
    return twin
end

local function is_ours(route)
    return #groups_of(without_mirrors(route.services), 1) > 0
end

-- The conditions of all routes, and the copies of the stable Service's.
local function known_and_made(wanted)
    local known, made = {}, {}
    for index, route in ipairs(spec.routes or {}) do
        local ours, base = is_ours(route), route.conditions or {}
        local replaces = route.pathRewritePolicy ~= nil and route.pathRewritePolicy.replacePrefix ~= nil
        found = found or ours
        table.insert(known, known_of(index, base, ours, replaces))
        for _, one in ipairs(ours and wanted or {}) do
            local conditions = conditions_for(route, one)
            if conditions then
                table.insert(made, made_of(index, base, conditions, one.path))
            end
        end
    end
    return known, made
end

local function match_all(matches)
    local known, made = known_and_made(wanted_of(matches))
    add_guards(made, known)
    local result = {}
    for index, route in ipairs(spec.routes or {}) do
        for _, conditions in ipairs(made_for(made, index)) do
            table.insert(result, copy_of(route, conditions, is_ours(route)))
        end
        table.insert(result, route)
    end
    check_idle(made)
    spec.routes = spec.routes and result
    if not found and spec.tcpproxy and is_ours(spec.tcpproxy) then
        error("the TCP proxy of an HTTPProxy cannot match anything: use traffic instead")
    end
end

local function split_all()
    local holders = {unpack(spec.routes or {})}
    table.insert(holders, spec.tcpproxy)
    for _, holder in ipairs(holders) do
        local parts = without_mirrors(holder.services)
        split(holder.services or {}, absent_in(parts), parts)
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
