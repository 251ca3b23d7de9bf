--@name Aliyun ALB Ingress
--@can weight,header,cookie
--
-- A canary Ingress beside the owner's, with one condition; a header or cookie and a share cannot be on one Ingress, so
-- matches win. Its order is one before the owner's, which has to leave room for it (the default is 10, the lowest 1).

local PREFIX, KIND = "alb.ingress.kubernetes.io/", "canary Ingress of ALB"

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

-- A rule of a lower order is looked at first. The original wrote 1 whatever the owner had.
local order = tonumber(annotations[PREFIX .. "order"] or 10)
if order == nil or order < 2 then
    error("the Ingress has the order " .. tostring(order) .. ": a " .. KIND .. " has to come before it, so it needs 2 or more")
end
annotations[PREFIX .. "order"] = tostring(order - 1)

if obj.matches ~= nil and #obj.matches > 0 then
    local header = one_header(obj.matches)
    if header.type == "RegularExpression" then
        error("no " .. KIND .. " can match headers by regular expression")
    end
    by_header(header)
    annotations[PREFIX .. "canary-weight"] = nil
end
return annotations
