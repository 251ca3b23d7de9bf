--@name ingress-nginx
--@can weight,header,header-regex,cookie,both
--
-- A canary Ingress beside the owner's: at most one is looked at for a path. Its header is asked first, and its cookie where the
-- header does not hold: one of each are alternatives. Two headers that hold together and other alternatives are refused.
-- An expression is searched for (PCRE), so it is bound to the whole value.
-- What matches goes to the new version; of the rest, where the step has a share too, that share.
-- Traefik (from 3.7) and others that read these annotations are served as well.

local PREFIX, KIND = "nginx.ingress.kubernetes.io/", "canary Ingress of ingress-nginx"

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

-- One alternative is a cookie alone, the other a header alone.
local function header_and_cookie(matches)
    local cookies = 0
    for _, match in ipairs(matches) do
        local headers = match.headers or {}
        if #headers ~= 1 or match.path or match.method or #(match.queryParams or {}) > 0 then
            return false
        elseif headers[1].name == "canary-by-cookie" then
            cookies = cookies + 1
        end
    end
    return #matches == 2 and cookies == 1
end

local wanted = obj.matches or {}
if header_and_cookie(wanted) then
    by_header(wanted[1].headers[1])
    by_header(wanted[2].headers[1])
elseif #wanted > 0 then
    by_header(one_header(wanted))
end
return annotations
