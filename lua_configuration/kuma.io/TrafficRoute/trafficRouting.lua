--@name Kuma TrafficRoute
--@can weight,subpercent,header,header-regex,cookie,path,method,header-modifier
--@regex re2
--@use steps, tables, backends, weights, conditions, subsets, paths, shadows
--
-- Divides the share of the stable Service's tag in the configuration and in its HTTP rules, or puts rules for the new revision
-- alone before them: the first that fits wins. Cluster-scoped, so only with the controller's flag for such kinds;
-- Kuma 3 ignores it: a MeshHTTPRoute is its successor.
--
-- Of several subsets of the Service (by tags), only those whose tags the stable pods have as labels are the release's.
--
-- obj.params.stableSubset: the subset, or the list of subsets, with the pods of the release ("tag=value,tag=value").
-- obj.params.scale: multiply the weights by this much.
-- obj.params.both: a step's matches and its traffic at once.

local TAG = "kuma.io/service"
local PATH_KEYS = {Exact = "exact", Text = "prefix", RegularExpression = "regex"}

local step = steps.of(obj)
local conf = step.spec.conf
if conf == nil then
    error("this TrafficRoute has no conf")
end

local function tag_of(entry)
    return (entry.destination or {})[TAG] or ""
end

-- The tag of a Service is <service>_<namespace>_svc_<port>.
local function names_stable(entry)
    local name, owner = tag_of(entry):match("^(.-)_([^_]+)_svc")
    return name == step.stable and (step.namespace == nil or owner == step.namespace)
end

-- What the configuration, or a rule of it, leads to.
local function entries_of(holder)
    return holder.split or (holder.destination and {{weight = 100, destination = holder.destination}}) or {}
end

local function tags_of(entry)
    return entry.destination
end

local function entries_to_stable()
    local result, holders = {}, {conf}
    for _, rule in ipairs(conf.http or {}) do
        table.insert(holders, rule)
    end
    for _, holder in ipairs(holders) do
        for _, entry in ipairs(entries_of(holder)) do
            if names_stable(entry) then
                table.insert(result, entry)
            end
        end
    end
    return result
end

local has_our_pods = subsets.of_release_by_tags(step, entries_to_stable(), tags_of)

local services = backends.of(step, {
    is_stable = function(entry) return names_stable(entry) and has_our_pods(entry) end,
    canary = function(entry)
        local result = tables.copy(entry)
        -- The pods of the new version need not have the other tags of the old one; their Service alone chooses them.
        for tag in pairs(subsets.own_tags(result.destination)) do
            result.destination[tag] = nil
        end
        result.destination[TAG] = step.canary .. tag_of(entry):sub(#step.stable + 1)
        result.weight = nil
        return result
    end,
    address = function(entry)
        return tag_of(entry) .. ":" .. subsets.name_of_tags(entry.destination)
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

-- The rule's own match with one alternative of the step's on top, and its path before and now; nil where the two can never
-- hold together.
local function narrowed(match, alternative)
    local result = tables.copy(match or {})
    local own = paths.of(result.path or {}, PATH_KEYS, "Text")
    local part = paths.served(step, own, alternative.path)
    if part == nil then
        return nil
    elseif not tables.same(own, part) then
        result.path = {[PATH_KEYS[part.type]] = part.value}
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
    return result, own, part
end

local SHADOWS = {
    fields = {path = "nothing", headers = "all"},
    path_of = function(match) return paths.of(match.path or {}, PATH_KEYS, "Text") end,
    matches_of = function(rule) return {rule.match or {}} end,
    leads_to = function(rule) return tag_of(shadows.main_of(entries_of(rule))) end,
}

local function add_copies(rules, holder, wanted, earlier)
    local entries = weights.canary_entries(services, entries_of(holder), 100)
    for _, alternative in ipairs(weights.has_share(step, services, entries_of(holder)) and wanted or {}) do
        local match, own, part = narrowed(holder.match, alternative)
        if match and shadows.reached(step, SHADOWS, earlier, match) then
            local rule = {match = match, modify = tables.copy(holder.modify)}
            local change = rule.modify and rule.modify.path
            if change and change.rewritePrefix then
                change.rewritePrefix = paths.replacement(change.rewritePrefix, own, part)
            end
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
        local wanted = paths.by_letters(conditions.wanted(step, "header,header-regex,cookie,path,method"))
        local rules, earlier = {}, {}
        for _, rule in ipairs(conf.http or {}) do
            add_copies(rules, rule, wanted, earlier)
            table.insert(rules, rule)
            table.insert(earlier, rule)
        end
        -- Whatever no rule matches goes where the configuration leads: its copies come last.
        add_copies(rules, {destination = conf.destination, split = conf.split}, wanted, earlier)
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
