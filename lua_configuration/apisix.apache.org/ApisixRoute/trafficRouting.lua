--@name Apache APISIX ApisixRoute
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@regex pcre
--@use steps, tables, backends, weights, conditions, precedence, shadows, paths, reports
--
-- Divides the stable Service's own share of every rule, or adds copies of those rules, bound to the step's matches and to the
-- new revision alone. Of rules with one path the priority decides, so a copy has its source's and one more; a rule over which
-- a copy would win gets a guard, a copy that leads where it leads. Copies come last, because the controller numbers what it
-- makes by the place of a rule.
--
-- obj.params.scale: multiply the weights of divided rules by this much.
-- obj.params.both: a step's matches and its traffic at once.

local SCOPES = {header = "Header", query = "Query", cookie = "Cookie"}

local step = steps.of(obj)
local spec = step.spec
-- A rule may name a Service once. A subset belongs to the ApisixUpstream of its Service; the new one has none of that name.
local services = backends.of(step, {
    name = "serviceName", drop = {"subset"}, without_weight = 100, most = 1000000000,
    headers = "an ApisixRoute changes headers for a whole rule: give the step matches instead of traffic",
})

-- A plugin's changes of headers; what is set may stand there without the word `set`.
local function change_headers(rule)
    rule.plugins = rule.plugins or {}
    local plugin
    for _, known in ipairs(rule.plugins) do
        plugin = known.name == "proxy-rewrite" and known or plugin
    end
    if plugin == nil then
        plugin = {name = "proxy-rewrite", enable = true}
        table.insert(rule.plugins, plugin)
    end
    plugin.config = plugin.config or {}
    local headers = plugin.config.headers or {}
    if next(headers) ~= nil and not (headers.set or headers.add or headers.remove) then
        headers = {set = headers}
    end
    plugin.config.headers = headers
    for _, verb in ipairs({"set", "add"}) do
        for _, header in ipairs(step.modifier[verb] or {}) do
            headers[verb] = headers[verb] or {}
            headers[verb][header.name] = header.value
        end
    end
    for _, name in ipairs(step.modifier.remove or {}) do
        headers.remove = headers.remove or {}
        table.insert(headers.remove, name)
    end
end

local function add_expression(match, subject, op, value)
    match.exprs = match.exprs or {}
    local function name_of(other)
        return other.scope == "Header" and (other.name or ""):lower() or other.name
    end
    for _, known in ipairs(match.exprs) do
        local about = known.subject
        if known.op == op and about.scope == subject.scope and name_of(about) == name_of(subject) then
            if known.value == value then
                return true
            elseif op == "Equal" then
                return false
            end
        end
    end
    table.insert(match.exprs, {subject = subject, op = op, value = value})
    return true
end

local function add(match, condition)
    if condition.what == "method" then
        return conditions.only_method(match, condition.value)
    end
    local subject = {scope = SCOPES[condition.what], name = condition.name}
    if condition.regex then
        return add_expression(match, subject, "RegexMatch", conditions.whole(condition))
    end
    return add_expression(match, subject, "Equal", condition.value)
end

-- A path is exact, or a text with * at its end, or has names in it.
local function path_of(match)
    local path = match.path
    local kind = path:find("*", 1, true) == #path and "Text" or path:find("[:*]") and "Wildcards" or "Exact"
    return {type = kind, value = kind == "Text" and path:sub(1, -2) or path}
end

-- The match with an alternative's path in addition. It is a condition of its own, as an expression: with a longer path the
-- copy would win over rules that win over its source. The name means nothing here, and has to be there.
local function with_path(source, path)
    local match, own = tables.copy(source), path_of(source)
    if path == nil or paths.inside(own, path) then
        return match
    elseif paths.apart(own, path) then
        step.unserved = path.value
        return nil
    end
    local pattern = conditions.whole({value = path.value, regex = path.type == "RegularExpression"})
    if path.type == "PathPrefix" then
        pattern = "^" .. conditions.escape((path.value:gsub("/+$", ""))) .. "(/.*)?$"
    end
    return add_expression(match, {scope = "Path", name = "path"}, "RegexMatch", pattern) and match
end

local CONDITIONS = {"methods", "exprs", "remoteAddrs", "filter_func"}

-- One path of a rule with the rule's conditions.
local function matches_of(rule)
    local result, match = {}, rule.match or {}
    for number, path in ipairs(match.paths and #match.paths > 0 and match.paths or {"/*"}) do
        result[number] = {path = path, priority = rule.priority or 0, hosts = match.hosts}
        for _, field in ipairs(CONDITIONS) do
            result[number][field] = tables.copy(match[field])
        end
    end
    return result
end

local function has(value)
    return value ~= nil and (type(value) ~= "table" or #value > 0)
end

local function size(match)
    local result = #(match.exprs or {})
    for _, field in ipairs({"methods", "remoteAddrs", "filter_func"}) do
        result = result + (has(match[field]) and 1 or 0)
    end
    return result
end

-- Adds a copy's conditions to a rule's; false if no request fits both.
local function add_all(result, made)
    local possible = true
    for _, one in ipairs(made.exprs or {}) do
        possible = possible and add_expression(result, one.subject, one.op, one.value)
    end
    local methods = {}
    for _, method in ipairs(made.methods or {}) do
        if not has(result.methods) or tables.contains(result.methods, method) then
            table.insert(methods, method)
        end
    end
    for _, field in ipairs({"remoteAddrs", "filter_func"}) do
        if has(result[field]) and has(made[field]) and not tables.same(result[field], made[field]) then
            error("two rules of one path have a " .. field .. " each, and would have to hold together")
        end
        result[field] = has(result[field]) and result[field] or made[field]
    end
    result.methods = has(made.methods) and methods or result.methods
    return possible and (not has(made.methods) or #methods > 0)
end

-- The match of a rule with a copy's conditions in addition, and before the copy; nil if no request fits both.
local function joined(known, made)
    local result = tables.copy(known.match)
    if not tables.same(known.place, made.place) or not tables.same(result.hosts or {}, made.match.hosts or {})
        or not add_all(result, made.match) then
        return nil
    end
    if size(result) == size(made.match) then
        -- The copy has no requests beside these.
        result.priority = known.match.priority + (known.ours and 1 or 0)
    else
        result.priority = math.max(known.match.priority, made.match.priority) + 1
    end
    return result
end

local kind = {
    path_of = path_of, matches_of = matches_of, size = size, joined = joined, unordered = true,
    shadows = {
        fields = {path = "nothing", priority = "nothing", exprs = "all", methods = "any"},
        path_of = path_of, matches_of = matches_of,
        leads_to = function(rule) return shadows.main_of(rule.backends).serviceName end,
    },
}

function kind.rank(match)
    local path = path_of(match)
    return {path.type == "Exact" and 1 or 0, #match.path, match.priority}
end

function kind.is_ours(rule)
    return weights.has_share(step, services, rule.backends)
end

function kind.replaces_prefix()
    return false
end

function kind.combined(_, source, alternative)
    local match = with_path(source, alternative.path)
    for _, condition in ipairs(match and alternative.conditions or {}) do
        match = match and add(match, condition) and match
    end
    if match then
        match.priority = match.priority + 1
    end
    return match or nil
end

-- Copies of a rule: one for all paths that have the same conditions.
function kind.copies(rule, matches)
    local result, by_rest, ours = {}, {}, kind.is_ours(rule)
    for _, match in ipairs(matches) do
        local rest = {priority = match.priority}
        for _, field in ipairs(CONDITIONS) do
            rest[field] = match[field]
        end
        local key = json.encode(rest)
        local twin = by_rest[key]
        if twin == nil then
            twin = tables.copy(rule)
            by_rest[key], twin.priority, twin.match = twin, match.priority, twin.match or {}
            twin.name = rule.name .. (ours and "-canary-" or "-guard-") .. #result
            twin.match.paths = {}
            for _, field in ipairs(CONDITIONS) do
                twin.match[field] = match[field]
            end
            if ours then
                twin.backends, twin.upstreams = weights.canary_entries(services, rule.backends), nil
                if step.modifier ~= nil then
                    change_headers(twin)
                end
            end
            table.insert(result, twin)
        end
        table.insert(twin.match.paths, match.path)
    end
    return result
end

-- The rules that lead to the stable Service. Streams have one backend and no weights.
local function rules()
    local result = {}
    for _, rule in ipairs(spec.http or {}) do
        if weights.has_stable(services, rule.backends) then
            table.insert(result, rule)
            for _, plugin in ipairs(rule.plugins or {}) do
                if plugin.name == "traffic-split" and plugin.enable ~= false then
                    error("a rule that points at Service " .. step.stable .. " has a traffic-split of its own")
                end
            end
        end
    end
    step.found = #result > 0
    for _, stream in ipairs(spec.stream or {}) do
        if not step.found and stream.backend and stream.backend.serviceName == step.stable then
            error("a stream of an ApisixRoute has one backend: neither matches nor traffic can divide it")
        end
    end
    return result
end

steps.carry_out(step, {
    match = function()
        rules()
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        local owners, copies = {}, {}
        for _, rule in ipairs(spec.http or {}) do
            owners[rule] = true
        end
        for _, rule in ipairs(precedence.with_copies(step, kind, spec.http or {}, wanted)) do
            if not owners[rule] then
                table.insert(copies, rule)
            end
        end
        for _, twin in ipairs(copies) do
            table.insert(spec.http, twin)
        end
    end,
    divide = function()
        for _, rule in ipairs(rules()) do
            weights.divide(step, services, rule.backends)
        end
    end,
})
return obj.data

--@taken

return reports.verdict(obj, function(status)
    local name = "APISIX Ingress Controller"
    local found = reports.of(name, status.conditions, "Accepted") or reports.of(name, status.conditions, "ResourcesAvailable")
    return {found}
end)
