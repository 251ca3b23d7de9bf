--@name Emissary Mapping
--@can weight,header,header-regex,cookie,query,path,method,header-modifier
--@regex re2
--@use steps, tables, conditions
--
-- The Mapping itself stays as it is. Mappings that match alike share requests, so a second one with a weight has a share; one
-- with more conditions, and without a weight, comes first. Each alternative of a step is a Mapping of its own.
-- Matches win over a share; expressions match the whole value (RE2).
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

for _, alternative in ipairs(conditions.wanted(step, "header,header-regex,cookie,query,path,method")) do
    local twin, path = sibling(), alternative.path
    for _, condition in ipairs(alternative.conditions) do
        add(twin, condition)
    end
    if path then
        twin.prefix = path.value
        twin.prefix_exact = path.type == "Exact" or nil
        twin.prefix_regex = path.type == "RegularExpression" or nil
    end
end
if step.weight > 0 and (#step.matches == 0 or step.params.both) then
    steps.only_whole_percents(step)
    sibling().weight = step.weight
end
obj.data.objects = objects
return obj.data
