-- The matches of a step as conditions, in one form for headers, query parameters, cookies and methods; and as regular
-- expressions for gateways that need them.
--@use tables

local conditions = {}

local WORDS = {
    header = "headers", ["header-regex"] = "headers by regular expression", query = "query parameters",
    cookie = "cookies", method = "methods", path = "paths",
}

local function condition_on(step, need, what, item)
    local kind = item.type or "Exact"
    if kind ~= "Exact" and kind ~= "RegularExpression" then
        error("no " .. step.kind .. " can match " .. WORDS[what] .. " by type " .. kind)
    end
    local regex = kind == "RegularExpression"
    local name, value = item.name, item.value
    if what == "cookie" then
        name, value = conditions.cookie(item.value)
    end
    need((what == "header" and regex) and "header-regex" or what)
    return {what = what, name = name, value = value, regex = regex}
end

-- A match of the step: conditions that hold together, and a path or nil.
local function alternative_of(step, need, match)
    local result, path = {}, match.path
    for _, header in ipairs(match.headers or {}) do
        local what = header.name == "canary-by-cookie" and "cookie" or "header"
        table.insert(result, condition_on(step, need, what, header))
    end
    for _, parameter in ipairs(match.queryParams or {}) do
        table.insert(result, condition_on(step, need, "query", parameter))
    end
    if match.method then
        need("method")
        table.insert(result, {what = "method", value = match.method})
    end
    if path then
        need("path")
        path = {type = path.type or "PathPrefix", value = path.value or "/"}
        if path.type ~= "Exact" and path.type ~= "PathPrefix" and path.type ~= "RegularExpression" then
            error("no " .. step.kind .. " can match paths by type " .. path.type)
        end
    elseif #result == 0 then
        error("a match of this step has no condition")
    end
    return {conditions = result, path = path}
end

---The step's matches. One of the alternatives has to hold, with all of its conditions. A condition has `what`
---(header, query, cookie or method), `name`, `value`, and `regex` if the value is an expression; a path has `type` and
---`value`. A condition that the kind cannot match is an error with a message.
---@param step moonshift.Step
---@param can string words of `--@can`: header, header-regex, query, cookie, method, path
---@return moonshift.Alternative[]
function conditions.wanted(step, can)
    local able = {}
    for word in can:gmatch("[%w-]+") do
        able[word] = true
    end
    local function need(word)
        if not able[word] then
            error("no " .. step.kind .. " can match " .. WORDS[word])
        end
    end
    local result = {}
    for position, match in ipairs(step.matches) do
        result[position] = alternative_of(step, need, match)
    end
    return result
end

---Name and value of the cookie that a match on `canary-by-cookie` means: `name=value`; a name alone means the cookie
---with the value "always".
---@param text string
---@return string name
---@return string value
function conditions.cookie(text)
    local name, value = text:match("^([^=]+)=(.*)$")
    return name or text, value or "always"
end

---A regular expression that matches exactly this text.
---@param text string
---@return string
function conditions.escape(text)
    return (text:gsub("[%^%$%(%)%.%[%]%*%+%?{}|\\]", "\\%0"))
end

---A cookie as an expression for the header that contains all cookies.
---@param condition moonshift.Condition
---@param ends? boolean for gateways that search: the expression need not match the whole header
---@return string
function conditions.cookie_pattern(condition, ends)
    local value = condition.regex and "(" .. condition.value .. ")" or conditions.escape(condition.value)
    local cookie = conditions.escape(condition.name) .. "=" .. value
    return ends and "(^|;\\s*)" .. cookie .. "(;|$)" or "(^|.*;\\s*)" .. cookie .. "(;.*|$)"
end

---A condition as an expression that matches the whole value, for gateways that search in the value.
---@param condition moonshift.Condition|{value: string, regex: boolean}
---@return string
function conditions.whole(condition)
    return "^" .. (condition.regex and "(?:" .. condition.value .. ")" or conditions.escape(condition.value)) .. "$"
end

---The condition for a gateway without conditions on cookies: a condition on the header that contains all cookies.
---@param condition moonshift.Condition
---@return moonshift.Condition
function conditions.cookie_as_header(condition)
    if condition.what ~= "cookie" then
        return condition
    end
    return {what = "header", name = "cookie", value = conditions.cookie_pattern(condition), regex = true}
end

---Whether a condition can never hold beside an inverted one for the same name: that excludes every value, this value, or
---a beginning of it.
---@param denied? moonshift.Denied
---@param condition {value: string, regex?: boolean}
---@return boolean
function conditions.excluded(denied, condition)
    if denied == nil then
        return false
    elseif denied.all or (denied.value == condition.value and not denied.regex == not condition.regex) then
        return true
    end
    local prefix = denied.prefix
    return prefix ~= nil and not condition.regex and condition.value:sub(1, #prefix) == prefix
end

---Adds a condition to a list of named conditions, unless it is there; false if it can never hold together with one of them.
---@param list moonshift.NameValue[]
---@param condition moonshift.Condition
---@param form {exact: (fun(known: table): string?), write: (fun(condition: moonshift.Condition): table),
---  denied?: fun(known: table): moonshift.Denied?} `exact`: the value
---  where an item asks for exactly one; `write`: a new item; `denied`: what an inverted item excludes, or nil
---@return boolean
function conditions.add(list, condition, form)
    local name = condition.name
    for _, known in ipairs(list) do
        local alike = known.name == name or (condition.what ~= "query" and known.name:lower() == name:lower())
        if alike and form.denied and conditions.excluded(form.denied(known), condition) then
            return false
        end
        local value = alike and not condition.regex and form.exact(known)
        if value then
            return value == condition.value
        end
    end
    table.insert(list, form.write(condition))
    return true
end

---Keeps only one method in `holder.methods`; false if the method was not in the list.
---@param holder {methods?: string[]}
---@param method string
---@return boolean
function conditions.only_method(holder, method)
    local allowed = holder.methods == nil or #holder.methods == 0 or tables.contains(holder.methods, method)
    holder.methods = {method}
    return allowed
end

return conditions
