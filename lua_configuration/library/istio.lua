-- Matches of Istio's HTTP routes: maps of conditions by the name of a header or a parameter.
--@use tables, conditions, subsets, shadows, paths

local istio = {}

local PATH_KEYS = {Exact = "exact", Text = "prefix", RegularExpression = "regex"}
local NOUNS = {headers = "header ", queryParams = "query parameter "}

local function put(match, kind, name, matcher)
    match[kind] = match[kind] or {}
    if match[kind][name] ~= nil and not tables.same(match[kind][name], matcher) then
        error("no VirtualService can match " .. NOUNS[kind] .. name .. " in two ways at once")
    end
    match[kind][name] = matcher
end

---The text behind the Service's name in a host: nothing, or a namespace with or without more; nil if the host is not the
---Service. Without a namespace given, the first label decides.
---@param host any
---@param service string
---@param namespace string?
---@return string?
function istio.suffix_of(host, service, namespace)
    if host == service then
        return ""
    elseif type(host) ~= "string" or host:sub(1, #service + 1) ~= service .. "." then
        return nil
    end
    local suffix = host:sub(#service + 1)
    local owner, rest = suffix:match("^%.([^.]+)(.*)$")
    local plain = rest == "" or rest == ".svc" or (rest or ""):sub(1, 5) == ".svc."
    if owner == nil or (namespace ~= nil and (owner ~= namespace or not plain)) then
        return nil
    end
    return suffix
end

---An alternative of the step in Istio's fields, with its path as it is. Header names are written in lower case; claims (@…)
---and :pseudo headers keep their case. There is one condition for a header and for a parameter: a second one is an error.
---@param alternative moonshift.Alternative
---@return table
function istio.match_of(alternative)
    local result = {path = alternative.path}
    for _, condition in ipairs(alternative.conditions) do
        -- A cookie's value was never an expression here.
        condition.regex = condition.regex and condition.what ~= "cookie"
        condition = conditions.cookie_as_header(condition)
        local name, matcher = condition.name, {[condition.regex and "regex" or "exact"] = condition.value}
        if condition.what == "method" then
            result.method = matcher
        elseif condition.what == "query" then
            put(result, "queryParams", name, matcher)
        else
            put(result, "headers", name:find("^[@:]") and name or name:lower(), matcher)
        end
    end
    return result
end

-- Adds the wanted conditions on headers or query parameters to an entry's; false if they can never hold together.
local function add_named(entry, kind, wanted)
    local present = {}
    for name in pairs(entry[kind] or {}) do
        present[kind == "headers" and not name:find("^[@:]") and name:lower() or name] = name
    end
    for name, condition in pairs(wanted or {}) do
        local known = present[name] and entry[kind][present[name]]
        if known == nil then
            entry[kind] = entry[kind] or {}
            entry[kind][name] = tables.copy(condition)
        elseif not tables.same(known, condition) then
            if known.exact and condition.exact then
                return false
            end
            error("a rule already matches " .. NOUNS[kind] .. name .. " in another way")
        end
    end
    return true
end

-- The same for the method.
local function add_method(entry, wanted)
    if wanted == nil or tables.same(entry.method, wanted) then
        return true
    elseif entry.method and not entry.method.exact then
        error("a rule already matches the method in another way")
    end
    local possible = entry.method == nil
    entry.method = tables.copy(wanted)
    return possible
end

-- Whether the entry's own exclusions leave no request that has a condition of the step.
local function excludes(entry, wanted)
    for name, matcher in pairs(entry.withoutHeaders or {}) do
        local condition = (wanted.headers or {})[name] or (wanted.headers or {})[name:lower()]
        local denied = {
            all = next(matcher) == nil, value = matcher.exact or matcher.regex, regex = matcher.regex ~= nil,
            prefix = matcher.prefix,
        }
        if condition and conditions.excluded(denied,
            {value = condition.exact or condition.regex, regex = condition.regex ~= nil}) then
            return true
        end
    end
    return false
end

-- The path of an entry. Without one it is everything; of everything Istio makes the prefix /.
local function path_of(entry)
    return paths.of(entry.uri or {}, PATH_KEYS, "Text", entry.ignoreUriCase)
end

---Which of the rules before a copy takes its requests, in the form that `shadows` needs.
---@return moonshift.Shadows
function istio.shadows()
    return {
        fields = {
            uri = "nothing", ignoreUriCase = "nothing", name = "nothing", statPrefix = "nothing", headers = "all",
            queryParams = "all", sourceLabels = "all",
        },
        path_of = path_of,
        -- What the routes of a delegate do not serve, later rules get.
        matches_of = function(rule)
            return rule.delegate and {} or rule.match and #rule.match > 0 and rule.match or {{}}
        end,
        leads_to = function(rule)
            return (shadows.main_of(rule.route).destination or {}).host
        end,
    }
end

---A rule's own match entries, each with the step's conditions in addition; an entry that no request could match is left out.
---@param step moonshift.Step
---@param source table[]?
---@param wanted table the result of `match_of`
---@return {match: table, own: table, part: table}[] entries, each with its path before and now
function istio.combined(step, source, wanted)
    local result, seen = {}, {}
    for _, entry in ipairs(source and #source > 0 and source or {{}}) do
        entry = tables.copy(entry)
        local own = path_of(entry)
        local part = paths.served(step, own, wanted.path)
        if part and not tables.same(own, part) then
            entry.uri = {[PATH_KEYS[part.type]] = part.value}
        end
        if wanted.path then
            entry.ignoreUriCase = nil
        end
        if part and not excludes(entry, wanted) and add_method(entry, wanted.method)
            and add_named(entry, "headers", wanted.headers)
            and add_named(entry, "queryParams", wanted.queryParams) and not tables.contains(seen, entry) then
            table.insert(seen, entry)
            table.insert(result, {match = entry, own = own, part = part})
        end
    end
    return result
end

-- The labels of a subset in the DestinationRules of the release.
local function labels_of(step, subset)
    for _, rule in ipairs(step.obj.siblings or {}) do
        local spec = rule.kind == "DestinationRule" and rule.spec or {}
        for _, known in ipairs(istio.suffix_of(spec.host, step.stable, step.namespace) and spec.subsets or {}) do
            if known.name == subset then
                return known.labels or {}
            end
        end
    end
end

---The subsets of the stable Service in the routes that have pods of the release, by name.
---@param step moonshift.Step
---@param canary? string the subset of the new version, where both versions share one Service
---@return table<string, boolean>
function istio.subsets_of_release(step, canary)
    local names, whole = {}, false
    local function take(destination)
        local subset = destination.subset
        if istio.suffix_of(destination.host, step.stable, step.namespace) == nil or (canary and subset == canary) then
            return
        elseif subset then
            tables.add(names, subset)
        else
            whole = true
        end
    end
    for _, protocol in ipairs({"http", "tls", "tcp"}) do
        for _, rule in ipairs(step.spec[protocol] or {}) do
            for _, entry in ipairs(rule.route or {}) do
                take(entry.destination or {})
            end
        end
    end
    return subsets.of_release(step, names, whole, function(name) return labels_of(step, name) end,
        "name the DestinationRule of this Service in the release as well")
end

return istio
