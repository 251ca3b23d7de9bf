--@name Gateway API HTTPRoute
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@announce
--
-- Divides the stable Service's own share of every rule that has it among its backends, or puts copies of those rules, bound
-- to the step's matches and to the new revision alone, right before them. The same text serves policy.linkerd.io, whose
-- rules have fewer matches.
-- A rule for others over which a copy would win gets a guard, a copy that leads where it leads.
--
-- An expression means what the gateway's implementation makes of it: a full match of RE2 with Envoy.
-- obj.params.scale: multiply the weights of divided rules by this much, as Kong needs (100).
-- obj.params.both: a step's matches and its traffic at once.

local KIND, MAX_WEIGHT = "HTTPRoute", 1000000
local CAN = {header = true, ["header-regex"] = true, cookie = true, query = true, path = true, method = true}
local MAX_RULES, MAX_MATCHES, MAX_IN_ALL = 16, 64, 128
if obj.object and (obj.object.apiVersion or ""):find("^policy%.linkerd%.io/") then
    MAX_MATCHES = 8
end

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
-- shared: refs
-- Backends of other kinds, of other groups or in other namespaces are not the Service.
local function is_service(ref)
    return (ref.kind == nil or ref.kind == "Service") and (ref.group == nil or ref.group == "" or ref.group == "core")
        and here(ref.namespace)
end
-- end
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
-- shared: header filter
-- A header or a name goes into the place of its namesake, or comes last.
local function put(list, item)
    local function name_of(element)
        return (type(element) == "table" and element.name or element):lower()
    end
    local at = #list + 1
    for index, known in ipairs(list) do
        at = name_of(known) == name_of(item) and index or at
    end
    list[at] = item
end

-- Changes of headers go into the filter that is there: a second one of its kind would be refused.
local function modify_headers(holder)
    holder.filters = holder.filters or {}
    local filter
    for _, known in ipairs(holder.filters) do
        filter = known.type == "RequestHeaderModifier" and known or filter
    end
    if filter == nil then
        filter = {type = "RequestHeaderModifier"}
        table.insert(holder.filters, filter)
    end
    local lists = filter.requestHeaderModifier or {}
    filter.requestHeaderModifier = lists
    for _, verb in ipairs({"set", "add", "remove"}) do
        for _, item in ipairs(modifier[verb] or {}) do
            lists[verb] = lists[verb] or {}
            put(lists[verb], copy(item))
        end
    end
end
-- end
local modify_entry = modify_headers

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
-- shared: route matches
local FIELDS = {header = "headers", query = "queryParams"}

-- Adds a condition to a match; false where it can never hold together with what is there.
local function add(match, condition)
    local what, value = condition.what, condition.value
    if what == "method" then
        local known = match.method
        match.method = value
        return known == nil or known == value
    elseif what == "cookie" then
        return add(match, {what = "header", name = "cookie", value = cookie_pattern(condition), regex = true})
    end
    local field, kind = FIELDS[what], condition.regex and "RegularExpression" or "Exact"
    for _, known in ipairs(match[field] or {}) do
        -- Names of headers know no case.
        if known.name == condition.name or (what == "header" and known.name:lower() == condition.name:lower()) then
            local known_kind = known.type or "Exact"
            if known_kind ~= kind or (kind ~= "Exact" and known.value ~= value) then
                error("a rule already matches the " .. what .. " " .. known.name .. " in another way")
            end
            return known.value == value
        end
    end
    match[field] = match[field] or {}
    table.insert(match[field], {type = kind, name = condition.name, value = value})
    return true
end

-- Every match of the rule with the step's conditions on top; a path of the step takes the place of the rule's own.
local function combined(rule, conditions, path)
    local result = {}
    local sources = rule.matches
    for _, source in ipairs(sources and #sources > 0 and sources or {{}}) do
        local match, possible = copy(source), true
        match.path = path and copy(path) or match.path
        for _, condition in ipairs(conditions) do
            possible = possible and add(match, condition)
        end
        if possible and is_first(match) then
            table.insert(result, match)
        end
    end
    return result
end
-- end

local function path_of(match)
    local path = match.path or {}
    return {type = path.type or "PathPrefix", value = path.value or "/"}
end

-- What decides between matches that hold for one request, in this order; then the order of the rules does.
local function rank(match)
    local path = path_of(match)
    return {
        path.type == "Exact" and 1 or 0, #path.value, match.method and 1 or 0, #(match.headers or {}),
        #(match.queryParams or {}),
    }
end

local function size(match)
    local found = rank(match)
    return found[3] + found[4] + found[5]
end

local function with_path_of(match, path)
    local result = copy(match)
    result.path = copy(path)
    return result
end

-- The match of a rule with a copy's path and conditions on top; nil where the two never hold together.
local function joined(known, made)
    local result = copy(known.match)
    if made.match.path then
        if made.path and known.replaces and not same(path_of(known.match), path_of(made.match)) then
            error("the path of this step would have to be taken from a rule for others that replaces its prefix")
        end
        result.path = copy(made.match.path)
    end
    local possible = made.match.method == nil or add(result, {what = "method", value = made.match.method})
    for what, field in pairs(FIELDS) do
        for _, item in ipairs(made.match[field] or {}) do
            local regex = item.type == "RegularExpression"
            possible = possible and add(result, {what = what, name = item.name, value = item.value, regex = regex})
        end
    end
    return possible and result or nil
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

-- A filter that replaces the matched prefix wants exactly one match in its rule, and that by prefix.
local function replaces_prefix(rule)
    for _, filter in ipairs(rule.filters or {}) do
        local change = filter.urlRewrite or filter.requestRedirect
        if change and change.path and change.path.type == "ReplacePrefixMatch" then
            return true
        end
    end
    return false
end

-- shared: rule copies
local function copy_of(rule, matches, number, ours)
    if #matches > MAX_MATCHES then
        error("a rule would have " .. #matches .. " matches (at most " .. MAX_MATCHES .. "): fewer matches in one step")
    end
    local result = copy(rule)
    result.matches = matches
    if ours then
        result.backendRefs = canary_entries(rule.backendRefs)
    end
    if rule.name then
        result.name = rule.name .. (ours and "-canary" or "-guard") .. (number > 0 and "-" .. number or "")
    end
    if ours and modifier ~= nil then
        modify_headers(result)
    end
    return result
end

local function is_ours(rule)
    return #groups_of(rule.backendRefs or {}, 1) > 0
end

local function check_size(rules)
    local total = 0
    for _, rule in ipairs(rules) do
        total = total + math.max(1, #(rule.matches or {}))
    end
    if #rules > MAX_RULES then
        error("the " .. KIND .. " would have " .. #rules .. " rules (at most " .. MAX_RULES .. ")")
    elseif total > MAX_IN_ALL then
        error("the " .. KIND .. " would have " .. total .. " matches in all (at most " .. MAX_IN_ALL .. ")")
    end
end
-- end

-- Alternatives share one rule where they can: a route has few.
local function rules_of(rule, matches, ours)
    local result = {}
    if replaces_prefix(rule) then
        for number, match in ipairs(matches) do
            table.insert(result, copy_of(rule, {match}, number - 1, ours))
        end
    elseif #matches > 0 then
        table.insert(result, copy_of(rule, matches, 0, ours))
    end
    return result
end

-- The matches of all rules, and the copies of the stable Service's.
local function known_and_made(wanted)
    local known, made = {}, {}
    for index, rule in ipairs(spec.rules or {}) do
        local ours = is_ours(rule)
        found = found or ours
        local sources = rule.matches and #rule.matches > 0 and rule.matches or {{}}
        for _, match in ipairs(sources) do
            table.insert(known, known_of(index, match, ours, replaces_prefix(rule)))
        end
        for _, one in ipairs(ours and wanted or {}) do
            if one.path and one.path.type ~= "PathPrefix" and replaces_prefix(rule) then
                error("a rule that replaces its prefix cannot match a path by type " .. one.path.type)
            end
            for _, source in ipairs(sources) do
                for _, match in ipairs(combined({matches = {source}}, one.conditions, one.path)) do
                    table.insert(made, made_of(index, source, match, one.path))
                end
            end
        end
    end
    return known, made
end

local function match_all(matches)
    local known, made = known_and_made(wanted_of(matches))
    add_guards(made, known)
    local result = {}
    for index, rule in ipairs(spec.rules or {}) do
        for _, twin in ipairs(rules_of(rule, made_for(made, index), is_ours(rule))) do
            table.insert(result, twin)
        end
        table.insert(result, rule)
    end
    check_idle(made)
    check_size(result)
    spec.rules = result
end

local function split_all()
    for _, rule in ipairs(spec.rules or {}) do
        split(rule.backendRefs or {}, 1)
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
