-- The fields of the Gateway API's routes, which other kinds also have: backendRefs, matches, and filters that change headers.
--@use tables, backends, conditions, shadows, paths

local gateway_api = {}

---Backends of a rule: references to Services; the default weight is 1.
---@param step moonshift.Step
---@param headers? fun(entry: table, modifier: moonshift.HeaderModifier) for routes that can change headers for one backend
---@return moonshift.Backends
function gateway_api.backends(step, headers)
    return backends.of(step, {
        name = "name", port = "port", namespace = "namespace", kinds = {"Service"}, groups = {"", "core"},
        without_weight = 1, most = 1000000, headers = headers,
    })
end

---Adds changes of headers to the existing filter: a second filter of its kind would be refused.
---@param holder {filters?: table[]} a rule, or a backend
---@param modifier moonshift.HeaderModifier
function gateway_api.change_headers(holder, modifier)
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
            tables.put(lists[verb], tables.copy(item))
        end
    end
end

---The matches of a rule; a rule without matches gets all requests.
---@param rule {matches?: table[]}
---@return table[]
function gateway_api.matches_of(rule)
    return rule.matches and #rule.matches > 0 and rule.matches or {{}}
end

local FIELDS = {header = "headers", query = "queryParams"}

---Adds a condition to a match; false if it can never hold together with the others.
---@param match table
---@param condition moonshift.Condition
---@return boolean
function gateway_api.add(match, condition)
    condition = conditions.cookie_as_header(condition)
    local what, value = condition.what, condition.value
    if what == "method" then
        local known = match.method
        match.method = value
        return known == nil or known == value
    end
    local field, kind = FIELDS[what], condition.regex and "RegularExpression" or "Exact"
    for _, known in ipairs(match[field] or {}) do
        -- Names of headers are compared without regard to case.
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

---A match with each header and query condition of another match in addition; nil if the two can never hold
---together.
---@param match table changed in place
---@param other table
---@return table?
function gateway_api.joined(match, other)
    local possible = true
    for what, field in pairs(FIELDS) do
        for _, item in ipairs(other[field] or {}) do
            local kind = item.type or "Exact"
            if kind == "Exact" or kind == "RegularExpression" then
                local regex = kind == "RegularExpression"
                possible = possible
                    and gateway_api.add(match, {what = what, name = item.name, value = item.value, regex = regex})
            else
                -- Types that no step has: they hold beside others.
                match[field] = match[field] or {}
                tables.add(match[field], tables.copy(item))
            end
        end
    end
    return possible and match or nil
end

---The path of a match; without one it is everything.
---@param match table
---@return {type: string, value: string}
function gateway_api.path_of(match)
    local path = match.path or {}
    return {type = path.type or "PathPrefix", value = path.value or "/"}
end

---A copy of a match with another path; a path that is the same stays as it was written.
---@param match table
---@param path {type: string, value: string}
---@return table
function gateway_api.with_path(match, path)
    local result = tables.copy(match)
    if not tables.same(gateway_api.path_of(match), path) then
        result.path = tables.copy(path)
    end
    return result
end

-- The conditions of a match, each in one form.
local function listed(items, any_case)
    local result = {}
    for position, item in ipairs(items or {}) do
        result[position] = {
            type = item.type or "Exact", name = any_case and item.name:lower() or item.name, value = item.value,
        }
    end
    return result
end

local function conditions_of(match)
    return {
        path = match.path, method = match.method, headers = listed(match.headers, true),
        queryParams = listed(match.queryParams),
    }
end

---Which rules have all requests of a copy, in the form that `shadows` needs.
---@return moonshift.Shadows
function gateway_api.shadows()
    return {
        fields = {path = "nothing", headers = "all", queryParams = "all"},
        form = conditions_of, path_of = gateway_api.path_of, matches_of = gateway_api.matches_of,
        leads_to = function(rule)
            return shadows.main_of(rule.backendRefs or (rule.default or {}).backendRefs).name
        end,
    }
end

---A match of the stable Service's rule with an alternative of the step in addition; nil if no request fits both.
---@param step moonshift.Step
---@param source table
---@param alternative moonshift.Alternative
---@return table?
function gateway_api.combined(step, source, alternative)
    local path = paths.served(step, gateway_api.path_of(source), alternative.path)
    local match = path and gateway_api.with_path(source, path)
    for _, condition in ipairs(match and alternative.conditions or {}) do
        match = match and gateway_api.add(match, condition) and match
    end
    return match or nil
end

return gateway_api
