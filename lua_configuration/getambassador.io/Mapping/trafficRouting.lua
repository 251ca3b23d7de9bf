--@name Emissary Mapping
--@can weight,header,header-regex,cookie,query,path,method,header-modifier
--@siblings getambassador.io/Mapping
--@regex re2
--@use steps, tables, conditions, paths
--
-- The Mapping itself stays as it is. Mappings that match alike share requests, so a second one with a weight has a share; one
-- with more conditions, and without a weight, comes first. Each alternative of a step is a Mapping of its own.
-- Matches win over a share; expressions match the whole value (RE2). Which of two Mappings comes first, the length of their
-- prefixes decides before anything else, be they expressions or not; the prefix alone, not its sort, tells two groups apart.
--
-- obj.params.both: a step's matches and its traffic at once.

local FIELDS = {
    header = {[false] = "headers", [true] = "regex_headers"},
    query = {[false] = "query_parameters", [true] = "regex_query_parameters"},
}

local step = steps.of(obj)
local spec, modifier, objects = step.spec, step.modifier or {}, {}

-- [scheme://]service[.namespace][:port]
local function parts_of(address)
    local scheme, rest = tostring(address or ""):match("^(%w+://)(.*)$")
    rest = rest or tostring(address or "")
    local host, port = rest:match("^(.-)(:%d+)$")
    local name, domain = (host or rest):match("^([^.]*)(.*)$")
    return scheme or "", name, domain, port or ""
end

local scheme, name, domain, port = parts_of(spec.service)
if name ~= step.stable or not steps.here(step, domain:match("^%.([^.]+)")) then
    error("this Mapping does not point at Service " .. step.stable .. ", but at " .. tostring(spec.service))
elseif spec.weight ~= nil then
    error("the Mapping has a weight of its own: it shares requests with others already, and cannot be divided")
end

local function change_headers(twin)
    for verb, append in pairs({set = false, add = true}) do
        for _, item in ipairs(modifier[verb] or {}) do
            twin.add_request_headers = twin.add_request_headers or {}
            twin.add_request_headers[item.name] = {value = item.value, append = append}
        end
    end
    for _, header in ipairs(modifier.remove or {}) do
        local there = twin.remove_request_headers
        twin.remove_request_headers = type(there) == "string" and {there} or there or {}
        table.insert(twin.remove_request_headers, header)
    end
end

-- A copy of the Mapping that leads to the new version.
local function sibling()
    local twin = tables.copy(spec)
    twin.service = scheme .. step.canary .. domain .. port
    change_headers(twin)
    local own = obj.object.name .. "-canary" .. (#objects > 0 and "-" .. #objects or "")
    table.insert(objects, {
        apiVersion = obj.object.apiVersion, kind = obj.object.kind,
        metadata = {name = own, labels = tables.copy(obj.data.labels)}, spec = twin,
    })
    return twin
end

local function add(twin, condition)
    condition = conditions.cookie_as_header(condition)
    local what, wanted, value, regex = condition.what, condition.name, condition.value, condition.regex
    if what == "method" then
        if twin.method_regex or (twin.method and twin.method ~= value) then
            error("the Mapping already matches a method")
        end
        twin.method = value
        return
    end
    for _, field in pairs(FIELDS[what]) do
        for known, text in pairs(twin[field] or {}) do
            local alike = known == wanted or (what == "header" and known:lower() == wanted:lower())
            if alike and not (text == value and field == FIELDS[what][regex]) then
                error("the Mapping already matches " .. what .. " " .. wanted)
            end
        end
    end
    local field = FIELDS[what][regex]
    twin[field] = twin[field] or {}
    twin[field][wanted] = value
end

local function path_of(mapping)
    local kind = mapping.prefix_regex and "RegularExpression" or mapping.prefix_exact and "Exact" or "Text"
    return {type = kind, value = mapping.prefix or "/", any_case = mapping.case_sensitive == false or nil}
end

-- The Mapping's own path. What is not said is rewritten to /; expressions are not rewritten by `rewrite`.
local own = path_of(spec)
local rewrite = not spec.prefix_regex and spec.regex_rewrite == nil and (spec.rewrite or "/") or ""

-- An expression as the prefix: the Mapping's prefix is rewritten by an expression, too.
local function set_pattern(twin, pattern)
    twin.prefix, twin.prefix_regex, twin.prefix_exact = pattern, true, nil
    if rewrite ~= "" then
        local prefix = (own.any_case and "(?i)" or "") .. "^" .. conditions.escape(spec.prefix)
        twin.rewrite, twin.regex_rewrite = nil, {pattern = prefix, substitution = rewrite:gsub("\\", "\\\\")}
    end
end

-- Lets a copy match a part of the Mapping's path, under which requests reach the Service as before.
local function set_path(twin, part)
    local pattern = part.type == "RegularExpression" and part.value
    if part.type == "Exact" and part.value == spec.prefix then
        pattern = conditions.whole(part)
    end
    twin.case_sensitive = nil
    if pattern then
        while #pattern <= #spec.prefix do
            pattern = "(?:" .. pattern .. ")"
        end
        set_pattern(twin, pattern)
        return
    end
    twin.prefix, twin.prefix_exact = part.value, part.type == "Exact" or nil
    if rewrite ~= "" then
        twin.rewrite = paths.replacement(rewrite, own, part)
    end
end

-- The other Mappings of the release for the same host, which lead to the stable Service, too.
local others = {}
for _, other in ipairs(obj.siblings or {}) do
    if other.kind == "Mapping" and other.spec and (other.spec.hostname or other.spec.host) == (spec.hostname or spec.host) then
        table.insert(others, other.spec)
    end
end

local NARROW = {
    "method", "method_regex", "headers", "regex_headers", "query_parameters", "regex_query_parameters", "precedence",
}

-- Whether another Mapping of the release serves a part of this one's path today, because its prefix is longer.
local function goes_elsewhere(part)
    for _, other in ipairs(others) do
        local place, narrow = path_of(other), false
        for _, field in ipairs(NARROW) do
            narrow = narrow or other[field] ~= nil
        end
        if not narrow and not tables.same(place, own) and paths.inside(place, own) and paths.inside(part, place) then
            return true
        end
    end
    return false
end

-- Whether another Mapping of the release may serve a path of the step.
local function served_elsewhere()
    for _, match in ipairs(step.matches) do
        local path = match.path and {type = match.path.type or "PathPrefix", value = match.path.value or "/"}
        for _, other in ipairs(others) do
            if path == nil or not paths.apart(path_of(other), path) then
                return true
            end
        end
    end
    return false
end

local whole = false

for _, alternative in ipairs(paths.by_letters(conditions.wanted(step, "header,header-regex,cookie,query,path,method"))) do
    local part = paths.served(step, own, alternative.path)
    local same = part and tables.same(own, part)
    if part and not goes_elsewhere(part) and not (whole and same and #alternative.conditions == 0) then
        local twin = sibling()
        for _, condition in ipairs(alternative.conditions) do
            add(twin, condition)
        end
        if not same then
            set_path(twin, part)
        elseif #alternative.conditions == 0 then
            -- It matches as the Mapping does, so it shares requests with it, and has all of them.
            twin.weight, whole = 100, true
        end
    end
end
if #step.matches > 0 and #objects == 0 and not served_elsewhere() then
    error("this Mapping to Service " .. step.stable .. " does not serve the path " .. tostring(step.unserved)
        .. " of this step")
end
if step.weight > 0 and (#step.matches == 0 or step.params.both) and not whole then
    steps.only_whole_percents(step)
    sibling().weight = step.weight
end
obj.data.objects = objects
return obj.data
