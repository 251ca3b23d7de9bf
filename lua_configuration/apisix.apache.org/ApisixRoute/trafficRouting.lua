--@name Apache APISIX ApisixRoute
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@regex pcre
--@use steps, tables, backends, weights, conditions, routes
--
-- Divides the stable Service's own share of every rule, or adds copies of those rules, bound to the step's matches and to the
-- new revision alone. Of rules with one path the priority decides, so a copy has its source's and one more; copies come
-- last, because the controller numbers what it makes by the place of a rule.
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

local ways = {
    match_of = function(rule)
        rule.match = rule.match or {}
        return rule.match
    end,
    -- Paths are exact, or prefixes with /* at their end; an expression is a condition of its own. APISIX asks the longest path
    -- first, so the copy keeps the rule's paths, and has /* for all others.
    set_path = function(match, path)
        local bare = path.value:gsub("/+$", "")
        if path.type == "RegularExpression" then
            -- The name means nothing here, and has to be there.
            local pattern = conditions.whole({value = path.value, regex = true})
            add_expression(match, {scope = "Path", name = "path"}, "RegexMatch", pattern)
            match.paths = match.paths or {}
            tables.add(match.paths, "/*")
        elseif path.type == "Exact" then
            match.paths = {path.value}
        else
            match.paths = bare == "" and {"/*"} or {bare, bare .. "/*"}
        end
    end,
    add = function(match, condition)
        if condition.what == "method" then
            return conditions.only_method(match, condition.value)
        end
        local subject = {scope = SCOPES[condition.what], name = condition.name}
        if condition.regex then
            return add_expression(match, subject, "RegexMatch", conditions.whole(condition))
        end
        return add_expression(match, subject, "Equal", condition.value)
    end,
    finish = function(rule, number)
        rule.name, rule.priority = rule.name .. "-canary-" .. (number - 1), (rule.priority or 0) + 1
        rule.backends, rule.upstreams = weights.canary_entries(services, rule.backends), nil
        if step.modifier ~= nil then
            change_headers(rule)
        end
    end,
}

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
        local wanted, copies = conditions.wanted(step, "header,header-regex,cookie,query,path,method"), {}
        for _, rule in ipairs(rules()) do
            for _, twin in ipairs(routes.copies(step, rule, wanted, ways)) do
                table.insert(copies, twin)
            end
        end
        step.done = #copies > 0
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
