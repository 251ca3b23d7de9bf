--@name Ingress of the AWS load balancer controller, in place
--@can weight,header,header-regex,cookie,query,path,method
--
-- Divides the stable Service's own share among the target groups of an action, or puts paths for the new revision alone, with
-- the step's matches as their conditions, before those that go to stable. The controller keeps the order of equal paths.
-- Serves references to an Ingress and the class alb; other classes have scripts of their own.
--
-- An exact value of a header is compared without regard to case by the load balancer.
-- obj.params.controller: "aws", where no annotation tells that the Ingress is for that controller.
-- obj.params.both: a step's matches and its traffic at once.

local KIND, MAX_WEIGHT = "Ingress", 999
local CAN = {header = true, ["header-regex"] = true, cookie = true, query = true, path = true, method = true}
local PREFIX = "alb.ingress.kubernetes.io/"
local MAX_GROUPS, MAX_VALUES = 5, 5

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

obj.data.annotations = obj.data.annotations or {}
local annotations = obj.data.annotations
-- The same prefix is in use elsewhere; these two words are not.
if not (annotations[PREFIX .. "scheme"] or annotations[PREFIX .. "target-type"] or params.controller == "aws" or obj.weight) then
    error("this Ingress is not known to be for the AWS load balancer controller (params.controller)")
end

local function points_at_stable(group)
    return group.serviceName == stable
end

local function canary_entry(group)
    local result = copy(group)
    result.serviceName, result.weight = canary, nil
    return result
end

local function address(group)
    return tostring(group.serviceName) .. ":" .. tostring(group.servicePort)
end

local function modify_entry()
    error("no Ingress of this controller can change headers for one revision")
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

-- What an annotation says about the action or the conditions of a name.
local function read(what, name)
    local text = annotations[PREFIX .. what .. "." .. name]
    if text == nil then
        return nil
    end
    local value, problem = json.decode(text)
    if value == nil then
        error("the annotation " .. PREFIX .. what .. "." .. name .. " cannot be read: " .. tostring(problem))
    end
    return value
end

local function write(what, name, value)
    annotations[PREFIX .. what .. "." .. name] = json.encode(value)
end

local function uses_annotation(service)
    return service.port ~= nil and service.port.name == "use-annotation"
end

local function forward(groups)
    return {type = "forward", forwardConfig = {targetGroups = groups}}
end

-- The name and the action of a backend; one that names a Service is an action with one group. nil where nothing is forwarded.
local ports, taken = {}, annotations[PREFIX .. "actions." .. stable] ~= nil
local function action_of(backend)
    local service = backend and backend.service
    if service == nil then
        return nil
    elseif uses_annotation(service) then
        local action = read("actions", service.name)
        return action and action.forwardConfig and action.forwardConfig.targetGroups and service.name, action
    elseif service.name ~= stable then
        return nil
    end
    local port = service.port and (service.port.number or service.port.name)
    ports[stable] = ports[stable] or port
    -- An action has one port for a Service: a second one, or one beside the owner's own action, needs another name.
    local name = ports[stable] == port and not taken and stable or stable .. "-" .. tostring(port)
    return name, forward({{serviceName = stable, servicePort = port}})
end

local function rules_with_paths()
    local result = {}
    for _, rule in ipairs(spec.rules or {}) do
        if rule.http and rule.http.paths then
            table.insert(result, rule)
        end
    end
    return result
end

-- Lets a backend lead to an action. Conditions go by the backend's name.
local function lead_to(name, backend)
    local conditions = read("conditions", backend.service.name)
    if conditions and name ~= backend.service.name then
        write("conditions", name, conditions)
    end
    backend.service = {name = name, port = {name = "use-annotation"}}
end

-- `written` has the actions that were looked at, and of which "new" ones take the place of Services.
local function split_backend(backend, written)
    local name, action = action_of(backend)
    if name == nil then
        return
    elseif written[name] then
        if written[name] == "new" and not uses_annotation(backend.service) then
            lead_to(name, backend)
        end
        return
    end
    local groups = action.forwardConfig.targetGroups
    local before, text = #groups, json.encode(groups)
    split(groups, 1)
    if #groups > MAX_GROUPS then
        error("an action would have " .. #groups .. " target groups (at most " .. MAX_GROUPS .. ")")
    elseif #groups > before and not uses_annotation(backend.service) then
        written[name] = "new"
        lead_to(name, backend)
    end
    if json.encode(groups) ~= text then
        written[name] = written[name] or "there"
        write("actions", name, action)
    end
end

local function split_all()
    local written = {}
    for _, rule in ipairs(rules_with_paths()) do
        for _, path in ipairs(rule.http.paths) do
            split_backend(path.backend, written)
        end
    end
    split_backend(spec.defaultBackend, written)
end

-- * and ? stand for letters in values; for headers an expression says the same, for parameters they are escaped.
local function native(condition)
    local what, name, value, regex = condition.what, condition.name, condition.value, condition.regex
    if what == "method" then
        return {field = "http-request-method", httpRequestMethodConfig = {values = {value}}}
    elseif what == "query" and regex then
        error("no Ingress of this controller can match query parameters by regular expression")
    elseif what == "query" then
        local text = value:gsub("[*?\\]", "\\%0")
        return {field = "query-string", queryStringConfig = {values = {{key = name, value = text}}}}
    elseif what == "cookie" then
        name, value, regex = "cookie", cookie_pattern(condition), true
    elseif not regex and value:find("[*?\\]") then
        value, regex = "^" .. escape(value) .. "$", true
    end
    return {field = "http-header", httpHeaderConfig = {httpHeaderName = name, [regex and "regexValues" or "values"] = {value}}}
end

-- How many values a rule of the load balancer has; a prefix is two, the one of everything one.
local function values_in(host, path, conditions)
    local count = host and 1 or 0
    count = count + ((path.pathType == "Prefix" and path.path ~= "/") and 2 or 1)
    for _, condition in ipairs(conditions) do
        for _, config in pairs(condition) do
            if type(config) == "table" then
                count = count + #(config.values or config.regexValues or {})
            end
        end
    end
    return count
end

local PATH_TYPES = {Exact = "Exact", PathPrefix = "Prefix"}
local seen = {}

local function copies_of(rule, path, wanted)
    local name, action = action_of(path.backend)
    local groups = name and canary_entries(action.forwardConfig.targetGroups) or {}
    local result = {}
    if #groups == 0 then
        return result
    end
    found = true
    for number, one in ipairs(wanted) do
        local twin, conditions = copy(path), read("conditions", path.backend.service.name) or {}
        for _, condition in ipairs(one.conditions) do
            table.insert(conditions, native(condition))
        end
        if one.path then
            twin.path, twin.pathType = one.path.value, PATH_TYPES[one.path.type]
            if twin.pathType == nil then
                error("no Ingress of this controller can match paths by type " .. one.path.type)
            end
        end
        local count = values_in(rule.host, twin, conditions)
        if count > MAX_VALUES then
            error("a rule would have " .. count .. " values of conditions (at most " .. MAX_VALUES .. "): fewer in one match")
        end
        local own = name .. "-canary-" .. (number - 1)
        twin.backend = {service = {name = own, port = {name = "use-annotation"}}}
        local place = {rule.host or "", twin.path or "", twin.pathType or "", own}
        local known = false
        for _, other in ipairs(seen) do
            known = known or same(other, place)
        end
        if not known then
            table.insert(seen, place)
            table.insert(result, twin)
            write("actions", own, forward(groups))
            if #conditions > 0 then
                write("conditions", own, conditions)
            end
        end
        done = true
    end
    return result
end

local function match_all(matches)
    if modifier ~= nil then
        modify_entry()
    end
    local wanted = wanted_of(matches)
    for _, rule in ipairs(rules_with_paths()) do
        local paths = {}
        for _, path in ipairs(rule.http.paths) do
            for _, twin in ipairs(copies_of(rule, path, wanted)) do
                table.insert(paths, twin)
            end
            table.insert(paths, path)
        end
        rule.http.paths = paths
    end
    if not found and action_of(spec.defaultBackend) then
        error("the default backend of an Ingress has no conditions: give it a path")
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
