--@name MSE Ingress
--@can weight,header,header-regex,cookie,query,both,header-modifier
--
-- A canary Ingress beside the owner's: one header, one cookie or one parameter chooses the new version. Changes of headers
-- are said one in a line. Where both versions share one Service, the subset gray is led to.

local PREFIX, KIND = "nginx.ingress.kubernetes.io/", "canary Ingress of MSE"
local MSE = "mse.ingress.kubernetes.io/"

-- shared: canary annotations
local annotations = obj.annotations or {}
-- How the new version is chosen is the step's to say, not what the owner had there.
for _, key in ipairs({"", "-by-cookie", "-by-header", "-by-header-pattern", "-by-header-value", "-weight", "-weight-total"}) do
    annotations[PREFIX .. "canary" .. key] = nil
end
annotations[PREFIX .. "canary"] = "true"
if obj.weight ~= "-1" then
    if obj.canaryWeight ~= nil and obj.canaryWeight ~= math.floor(obj.canaryWeight) then
        error("no " .. KIND .. " can say " .. obj.weight .. " %: its weight is a whole number")
    end
    annotations[PREFIX .. "canary-weight"] = obj.weight
end
if obj.requestHeaderModifier ~= nil and KIND ~= "canary Ingress of MSE" then
    error("no " .. KIND .. " can change headers")
end
-- end
-- shared: one condition
-- The one header or cookie of a step; errors where there is more.
local function one_header(matches)
    if #matches > 1 then
        error("a " .. KIND .. " has one condition: " .. #matches .. " alternatives cannot be said")
    end
    local match = matches[1]
    if match.path or match.method or #(match.queryParams or {}) > 0 then
        error("a " .. KIND .. " can match a header or a cookie, nothing else")
    end
    local headers = match.headers or {}
    if #headers ~= 1 then
        error("a " .. KIND .. " has one condition: " .. #headers .. " headers that hold together cannot be said")
    end
    return headers[1]
end

local function cookie_name(header)
    if header.value:find("=", 1, true) then
        error("a " .. KIND .. " knows a cookie by its name alone: its value says always or never")
    end
    return header.value
end

local function by_header(header)
    if header.name == "canary-by-cookie" then
        annotations[PREFIX .. "canary-by-cookie"] = cookie_name(header)
        return
    end
    annotations[PREFIX .. "canary-by-header"] = header.name
    if header.type == "RegularExpression" then
        annotations[PREFIX .. "canary-by-header-pattern"] = "^(?:" .. header.value .. ")$"
    else
        annotations[PREFIX .. "canary-by-header-value"] = header.value
    end
end
-- end

for _, key in ipairs({"canary-by-query", "canary-by-query-pattern", "canary-by-query-value"}) do
    annotations[MSE .. key] = nil
end
if annotations[MSE .. "service-subset"] ~= nil or obj.stableService == obj.canaryService then
    annotations[MSE .. "service-subset"] = "gray"
end

-- One in a line; the original wrote them behind each other, so that the second was lost.
local function lines(what, items, line)
    local result = {}
    for _, item in ipairs(items or {}) do
        table.insert(result, line(item))
    end
    if #result > 0 then
        annotations[MSE .. "request-header-control-" .. what] = table.concat(result, "\n")
    end
end
local function pair(item)
    return item.name .. " " .. item.value
end
local modifier = obj.requestHeaderModifier
if modifier ~= nil then
    lines("update", modifier.set, pair)
    lines("add", modifier.add, pair)
    if #(modifier.remove or {}) > 0 then
        annotations[MSE .. "request-header-control-remove"] = table.concat(modifier.remove, ",")
    end
end

local function by_query(parameter)
    annotations[MSE .. "canary-by-query"] = parameter.name
    if parameter.type == "RegularExpression" then
        annotations[MSE .. "canary-by-query-pattern"] = "^(?:" .. parameter.value .. ")$"
    else
        annotations[MSE .. "canary-by-query-value"] = parameter.value
    end
end

if obj.matches ~= nil and #obj.matches > 0 then
    local match = obj.matches[1]
    local parameters = match.queryParams or {}
    if #obj.matches == 1 and #parameters == 1 and #(match.headers or {}) == 0 and not match.path and not match.method then
        by_query(parameters[1])
    else
        if #parameters > 0 then
            error("a " .. KIND .. " has one condition: a parameter and others that hold together cannot be said")
        end
        by_header(one_header(obj.matches))
    end
end
return annotations
