--@name NGINX VirtualServer
--@can weight,header,header-regex,cookie,query,method,header-modifier
--@regex pcre
--@use steps, tables, backends, weights, conditions, named_backends, shadows, reports
--
-- Divides what goes to upstreams of the stable Service, in routes and in their matches, or puts matches for the new revision
-- alone before those that go to stable; a request that fits none goes where it went. The new revision gets a copy of each
-- such upstream. Splits have a sum of 100 and whole numbers. It serves VirtualServerRoute too.
--
-- Plain values are compared without regard to case here, so letters are written as an expression, which is exact. NGINX's
-- controller takes a VirtualServer with a name or a value that it does not accept out of service, so those are refused.
-- obj.params.both: a step's matches and its traffic at once.

local FIELDS = {header = "header", cookie = "cookie", query = "argument"}

local step = steps.of(obj)
local spec = step.spec
local routes = spec.routes or spec.subroutes or {}
local twins, upstreams = named_backends.with_copies(step, spec.upstreams, {
    service = "service", port = "port", noun = "an upstream", longest = 63,
})

-- The name of a header, for a condition or a change; an error if NGINX's controller accepts no such name.
local function checked(name)
    if not name:find("^[-%w]+$") then
        error("a header of a " .. step.kind .. " has a name of letters, digits and dashes: " .. name)
    end
    return name
end

local function upstream_of(action)
    return action and (action.pass or (action.proxy and action.proxy.upstream))
end

local function change_headers(entry, modifier)
    if modifier.add or modifier.remove then
        error("no " .. step.kind .. " can add values to headers or remove headers: set them instead")
    end
    local action = entry.action
    if action.pass then
        action.proxy, action.pass = {upstream = action.pass}, nil
    end
    action.proxy.requestHeaders = action.proxy.requestHeaders or {}
    local headers = action.proxy.requestHeaders
    headers.set = headers.set or {}
    for _, header in ipairs(modifier.set or {}) do
        if header.value:find("$", 1, true) then
            error("in a header of a " .. step.kind .. " $ begins a variable: " .. header.value)
        end
        local value = header.value:gsub('[\\"]', "\\%0")
        tables.put(headers.set, {name = checked(header.name), value = value})
    end
end

local services = backends.of(step, {
    is_stable = function(entry) return twins[upstream_of(entry.action) or ""] ~= nil end,
    canary = function(entry)
        local result = tables.copy(entry)
        local action = result.action
        result.weight = nil
        if action.pass then
            action.pass = twins[action.pass]
        else
            action.proxy.upstream = twins[action.proxy.upstream]
        end
        return result
    end,
    address = function(entry) return upstream_of(entry.action) end,
    headers = change_headers, without_weight = 0, most = 100,
})

-- The entry of what a route or a match does: itself where it has one action, or the first of its splits that fits. Where the
-- splits leave nothing to the stable Service, there is none.
local function stable_entry(holder)
    local entries = holder.splits or {{weight = 100, action = holder.action}}
    for _, entry in ipairs(weights.has_share(step, services, entries) and entries or {}) do
        if services.is_stable(entry) then
            return entry
        end
    end
end

-- The value becomes a quoted text of NGINX, which reads two backslashes as one.
local function quoted(pattern)
    return "~" .. pattern:gsub("\\\\", "\\\\\\\\"):gsub('"', '\\"')
end

-- "~" stands for an expression and "!" for not, so that only what has neither, nor letters, can be said as it is.
local function value_of(condition)
    if not condition.regex and not condition.value:find('[%a~!"\\]') then
        return condition.value
    end
    return quoted(conditions.whole(condition))
end

-- Names of cookies and arguments have letters, digits and _; what has others is looked for where all of them are.
local function native(condition)
    local what, name = condition.what, condition.name
    if what == "method" then
        return {variable = "$request_method", value = value_of(condition)}
    elseif what == "header" or name:find("^[_%w]+$") then
        return {[FIELDS[what]] = what == "header" and checked(name) or name, value = value_of(condition)}
    elseif what == "cookie" then
        return {header = "cookie", value = quoted(conditions.cookie_pattern(condition))}
    end
    local pattern = condition.regex and "(?:" .. condition.value .. ")" or conditions.escape(condition.value)
    return {variable = "$args", value = quoted("(^|&)" .. conditions.escape(name) .. "=" .. pattern .. "(&|$)")}
end

-- A condition in the form in which two are compared: NGINX knows no case in names of headers and in plain values.
local function comparable(condition)
    local result = tables.copy(condition)
    result.header = condition.header and condition.header:lower()
    if not condition.value:find("^!?~") then
        result.value = condition.value:lower()
    end
    return result
end

-- Whether the owner's conditions leave no request that has one of the values that an alternative asks for.
local function contradict(base, alternative)
    for _, condition in ipairs(alternative.conditions) do
        local wanted, value = comparable(native(condition)), not condition.regex and condition.value:lower()
        for _, known in ipairs(value and base or {}) do
            known = comparable(known)
            local denied, own = known.value:match("^(!?)([^~].*)$")
            known.value, wanted.value = nil, nil
            if own and tables.same(known, wanted) and (own == value) == (denied == "!") then
                return true
            end
        end
    end
    return false
end

local SHADOWS = {
    fields = {list = "all"}, path_of = function() return {type = "Text", value = "/"} end,
    form = function(match)
        local list = {}
        for _, condition in ipairs(match.conditions) do
            table.insert(list, comparable(condition))
        end
        -- What a plain value of the owner compares without regard to case.
        for _, condition in ipairs(match.plain or {}) do
            local known = native(condition)
            known.value = condition.value
            table.insert(list, comparable(known))
        end
        return {list = list}
    end,
    matches_of = function(match) return {match} end,
    leads_to = function(match)
        return upstream_of(match.action or shadows.main_of(match.splits).action)
    end,
}

-- The conditions of an alternative that ask for one value.
local function plain_ones(alternative)
    local result = {}
    for _, condition in ipairs(alternative.conditions) do
        if not condition.regex then
            table.insert(result, condition)
        end
    end
    return result
end

local function match_for(holder, base, alternative)
    local entry = services.canary({action = stable_entry(holder).action})
    if step.modifier ~= nil then
        change_headers(entry, step.modifier)
    end
    local result = {conditions = tables.copy(base), action = entry.action}
    for _, condition in ipairs(alternative.conditions) do
        table.insert(result.conditions, native(condition))
    end
    return result
end

-- Matches come before what a route does otherwise, the first that fits first.
local function matches_of(route, wanted)
    local list, earlier = {}, {}
    local function insert_for(holder, base)
        if stable_entry(holder) then
            step.found = true
            for _, alternative in ipairs(wanted) do
                local match = match_for(holder, base, alternative)
                local compared = {conditions = match.conditions, plain = plain_ones(alternative)}
                if not contradict(base, alternative) and shadows.reached(step, SHADOWS, earlier, compared) then
                    step.done = true
                    table.insert(list, match)
                end
            end
        end
    end
    for _, match in ipairs(route.matches or {}) do
        insert_for(match, match.conditions)
        table.insert(list, match)
        table.insert(earlier, match)
    end
    insert_for(route, {})
    return list
end

steps.carry_out(step, {
    match = function()
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,method")
        for _, route in ipairs(routes) do
            local list = matches_of(route, wanted)
            route.matches = #list > #(route.matches or {}) and list or route.matches
        end
        spec.upstreams = step.found and upstreams or spec.upstreams
    end,
    divide = function()
        for _, route in ipairs(routes) do
            local holders = {unpack(route.matches or {})}
            table.insert(holders, route)
            for _, holder in ipairs(holders) do
                local splits = holder.splits or {{weight = 100, action = holder.action}}
                weights.divide(step, services, splits)
                if #splits > 1 and holder.splits == nil then
                    holder.splits, holder.action = splits, nil
                end
            end
        end
        if step.found and step.weight > 0 then
            spec.upstreams = upstreams
        end
    end,
})
return obj.data

--@taken
-- The status has no generation: a refusal is seen, and an old Valid counts until then.

return reports.verdict(obj, function(status)
    local refused = status.state == "Invalid" or status.reason == "Rejected"
    return (status.state or "") == "" and {} or {{
        name = "NGINX Ingress Controller", taken = not refused, words = reports.words(status),
    }}
end)
