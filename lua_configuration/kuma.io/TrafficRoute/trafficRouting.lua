--@name Kuma TrafficRoute
--@can weight,subpercent,header,header-regex,cookie,path,method,header-modifier
--@regex re2
--@use steps, tables, backends, weights, conditions
--
-- Divides the share of the stable Service's tag in the configuration and in its HTTP rules, or puts rules for the new revision
-- alone before them: the first that fits wins. Cluster-scoped, so only with the controller's flag for such kinds;
-- Kuma 3 ignores it: a MeshHTTPRoute is its successor.
--
-- obj.params.scale: multiply the weights by this much.
-- obj.params.both: a step's matches and its traffic at once.

local TAG = "kuma.io/service"
local PATH_KEYS = {Exact = "exact", PathPrefix = "prefix", RegularExpression = "regex"}

local step = steps.of(obj)
local conf = step.spec.conf
if conf == nil then
    error("this TrafficRoute has no conf")
end

local function tag_of(entry)
    return (entry.destination or {})[TAG] or ""
end

-- The tag of a Service is <service>_<namespace>_svc_<port>.
local services = backends.of(step, {
    is_stable = function(entry)
        local name, owner = tag_of(entry):match("^(.-)_([^_]+)_svc")
        return name == step.stable and (step.namespace == nil or owner == step.namespace)
    end,
    canary = function(entry)
        local result = tables.copy(entry)
        result.destination[TAG] = step.canary .. tag_of(entry):sub(#step.stable + 1)
        result.weight = nil
        return result
    end,
    address = function(entry)
        return tag_of(entry) .. ":" .. tostring((entry.destination or {}).version)
    end,
    headers = "no TrafficRoute can change headers for a share of the requests",
    without_weight = 0, most = 1000000000,
})

local function change_headers(rule)
    rule.modify = rule.modify or {}
    rule.modify.requestHeaders = rule.modify.requestHeaders or {}
    local lists = rule.modify.requestHeaders
    for _, verb in ipairs({"set", "add"}) do
        for _, item in ipairs(step.modifier[verb] or {}) do
            lists.add = lists.add or {}
            table.insert(lists.add, {name = item.name, value = item.value, append = verb == "add"})
        end
    end
    for _, name in ipairs(step.modifier.remove or {}) do
        lists.remove = lists.remove or {}
        table.insert(lists.remove, {name = name})
    end
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

local function divide(holder)
    local entries = entries_of(holder)
    if step.modifier ~= nil and weights.has_stable(services, entries) then
        services.change_headers()
    elseif weights.divide(step, services, entries) then
        put_entries(holder, entries)
    end
end

-- Adds a condition on a header, or on the one of cookies; false where it can never hold together with what is there.
local function add_header(match, condition)
    condition = conditions.cookie_as_header(condition)
    local name, wanted = condition.name:lower(), {[condition.regex and "regex" or "exact"] = condition.value}
    match.headers = match.headers or {}
    local known = match.headers[name]
    if known and known.exact and wanted.exact and known.exact ~= wanted.exact then
        return false
    elseif known and (known.exact ~= wanted.exact or known.regex ~= wanted.regex or known.prefix) then
        error("a rule already matches header " .. name)
    end
    match.headers[name] = wanted
    return true
end

-- The rule's own match with one alternative of the step's on top; nil where the two can never hold together.
local function narrowed(match, alternative)
    local result = tables.copy(match or {})
    if alternative.path then
        result.path = {[PATH_KEYS[alternative.path.type]] = alternative.path.value}
    end
    for _, condition in ipairs(alternative.conditions) do
        if condition.what ~= "method" then
            if not add_header(result, condition) then
                return nil
            end
        elseif result.method and result.method.exact ~= condition.value then
            return nil
        else
            result.method = {exact = condition.value}
        end
    end
    return result
end

local function add_copies(rules, holder, wanted)
    local entries = weights.canary_entries(services, entries_of(holder), 100)
    step.found = step.found or #entries > 0
    for _, alternative in ipairs(#entries > 0 and wanted or {}) do
        local match = narrowed(holder.match, alternative)
        if match then
            local rule = {match = match, modify = tables.copy(holder.modify)}
            put_entries(rule, tables.copy(entries))
            if step.modifier ~= nil then
                change_headers(rule)
            end
            table.insert(rules, rule)
            step.done = true
        end
    end
end

steps.carry_out(step, {
    match = function()
        local wanted, rules = conditions.wanted(step, "header,header-regex,cookie,path,method"), {}
        for _, rule in ipairs(conf.http or {}) do
            add_copies(rules, rule, wanted)
            table.insert(rules, rule)
        end
        -- Whatever no rule matches goes where the configuration leads: its copies come last.
        add_copies(rules, {destination = conf.destination, split = conf.split}, wanted)
        conf.http = rules
    end,
    divide = function()
        for _, rule in ipairs(conf.http or {}) do
            divide(rule)
        end
        divide(conf)
    end,
})
return obj.data
