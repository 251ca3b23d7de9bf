-- For scripts that ask (`--@does source`, `check`, `target`): what an answer says, which value of a series counts, when to ask
-- again, and times as texts. Messages name the service that was asked.

local exchange = {}

local LONGEST = 160
-- The names under which services put their words.
local WHERE = {
    "message", "Message", "error_description", "detail", "reason", "title", "description", "text", "msg", "errorMessage",
    "messages", "error", "errors",
}
local KEEPS = json.decode("[null]", {nulls = true})[1] ~= nil

---The beginning of a text that somebody limits; characters stay whole.
---@param text string
---@param most integer bytes
---@return string
function exchange.short(text, most)
    if #text <= most then
        return text
    end
    local stop = most - #"…"
    while stop > 0 and text:find("^[\128-\191]", stop + 1) do
        stop = stop - 1
    end
    return text:sub(1, stop) .. "…"
end

-- The first words of a text, in one line; nothing of a page.
local function words(text)
    local plain = text:gsub("%c+", " "):gsub("^%s+", ""):gsub("%s+$", "")
    if plain == "" or plain:find("<", 1, true) then
        return nil
    end
    return exchange.short(plain, LONGEST)
end

-- The message in an answer, wherever services put it.
local function message(value, depth)
    if type(value) == "string" then
        return words(value)
    elseif type(value) ~= "table" or depth > 4 then
        return nil
    end
    for _, key in ipairs(WHERE) do
        local found = message(value[key], depth + 1)
        if found then
            return found
        end
    end
    return message(value[1], depth + 1)
end

---The text of an answer with a status from 200 to 299; any other status is an error with the service's own first words.
---@param answer moonshift.Answer
---@param who string the service, for messages
---@return string
function exchange.accept(answer, who)
    if answer.status < 200 or answer.status > 299 then
        local said = message(json.decode(answer.body or "") or answer.body, 1)
        error(who .. " answered " .. answer.status .. (said and ": " .. said or ""))
    end
    return answer.body
end

-- Members of objects that are null are absent, as in every other table of a script.
local function without_null_members(value)
    for key, inner in next, value do
        if inner == json.null and type(key) == "string" then
            value[key] = nil
        elseif type(inner) == "table" then
            without_null_members(inner)
        end
    end
    return value
end

---The decoded JSON of such an answer. A null in a list is `json.null`, so no item changes its place; a member of an object that
---is null is absent.
---@param answer moonshift.Answer
---@param who string
---@return any
function exchange.read(answer, who)
    local body = exchange.accept(answer, who)
    if not KEEPS and body:find("[%[,]%s*null") then
        error("this script worker cannot read a list with null: update it to the version of the controller")
    end
    local value = json.decode(body, {nulls = true})
    if type(value) ~= "table" then
        error(who .. " answered " .. answer.status .. " with something that is no JSON object or list")
    end
    return without_null_members(value)
end

---An error of a service inside an answer that is good by its status.
---@param who string
---@param said any a text, or a table that has a message somewhere
function exchange.fail(who, said)
    error(who .. " says: " .. (message(said, 1) or "an error without words"))
end

---A number, of a number or of a text; nil for null, a gap, or anything that is no finite number.
---@param value any
---@return number?
function exchange.number(value)
    local number = (type(value) == "number" or type(value) == "string") and tonumber(value) or nil
    return number and number - number == 0 and number or nil
end

---The only item of a list, or nil if it is empty; an error if there are more.
---@param list any[]?
---@param who string
---@return any
function exchange.one(list, who)
    local count = type(list) == "table" and #list or 0
    if count > 1 then
        error("the query gives " .. count .. " series or rows in " .. who .. ": let it sum or group them to one")
    end
    return count == 1 and list[1] or nil
end

---The only value of a row with names, as a number; names that begin with `_` do not count. An error if there are more.
---@param row table<string, any>?
---@param who string
---@return number?
function exchange.cell(row, who)
    local values = {}
    for name, value in pairs(row or {}) do
        if name:sub(1, 1) ~= "_" then
            values[#values + 1] = value
        end
    end
    return exchange.number(exchange.one(values, who))
end

---The newest value of a series from old to new, as a source answers it. Gaps are left out, and so is the newest point, which
---is still being filled, unless it is the only one.
---@param points any[]?
---@param key? string|integer where a point has its value; left out if a point is a value
---@return moonshift.Measured
function exchange.newest(points, key)
    local value, samples = nil, 0
    local count = type(points) == "table" and #points or 0
    for place = 1, count do
        local point = points[place]
        local number = exchange.number(key and type(point) == "table" and point[key] or not key and point or nil)
        if number and (place < count or samples == 0) then
            value, samples = number, samples + 1
        end
    end
    return samples > 0 and {value = value, samples = samples} or {}
end

---The value in an answer of a service with the query API of Prometheus.
---@param answer moonshift.Answer
---@param who string
---@return moonshift.Measured
function exchange.vector(answer, who)
    local found = exchange.read(answer, who)
    if found.status ~= "success" then
        exchange.fail(who, found)
    elseif found.data.resultType == "scalar" then
        return {value = exchange.number(found.data.result[2])}
    elseif found.data.resultType ~= "vector" then
        error("the query gives no number in " .. who .. " but " .. found.data.resultType .. ": let it give an instant vector")
    end
    local sample = exchange.one(found.data.result, who)
    return {value = sample and exchange.number(sample.value[2])}
end

---Sends a request after a while, for something that is not ready yet.
---@param request moonshift.Request
---@param seconds number
---@param state? table what the next turn has to know
---@return moonshift.Asking
function exchange.later(request, seconds, state)
    return {ask = {request}, again = seconds, state = state}
end

---The answer of a target: sent, or again after the time that the service names; any other status is an error.
---@param answer moonshift.Answer
---@param who string
---@return moonshift.Told
function exchange.sent(answer, who)
    local wait = answer.headers and answer.headers["retry-after"]
    if answer.status == 429 or answer.status > 499 or answer.status > 299 and wait then
        return {again = math.max(1, math.min(exchange.number(wait) or 30, 3600)), why = who .. " answered " .. answer.status}
    end
    exchange.accept(answer, who)
    return {sent = true}
end

---A time as RFC 3339 writes it, in UTC: `2023-11-14T22:13:20Z`.
---@param seconds number since 1970
---@return string
function exchange.time(seconds)
    local days = math.floor(seconds / 86400)
    local rest = math.floor(seconds - days * 86400)
    -- Years begin in March here, so that a leap day is the last day of a year.
    local day = days + 719468
    local era = math.floor(day / 146097)
    local of_era = day - era * 146097
    local gone = of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)
    local year = math.floor(gone / 365)
    local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
    local month = math.floor((5 * of_year + 2) / 153)
    local date = of_year - math.floor((153 * month + 2) / 5) + 1
    month = month < 10 and month + 3 or month - 9
    return ("%04d-%02d-%02dT%02d:%02d:%02dZ"):format(year + era * 400 + (month < 3 and 1 or 0), month, date,
        math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60)
end

return exchange
