--@name Huawei CCE ELB Ingress
--@can weight,header,cookie
--
-- A canary Ingress beside the owner's, for dedicated load balancers: one header with the values that choose the new version,
-- or one cookie, or a share. Alternatives are values of one header.

local PREFIX, KIND = "kubernetes.io/elb.", "canary Ingress of ELB"

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

-- Alternatives of one header are its values; of anything else there is one.
local function values_of(matches)
    local name, values = nil, {}
    for _, match in ipairs(matches) do
        local header = one_header({match})
        if header.type == "RegularExpression" then
            error("no " .. KIND .. " can match headers by regular expression")
        elseif header.name == "canary-by-cookie" and #matches > 1 or name ~= nil and name ~= header.name then
            error("a " .. KIND .. " has one header: alternatives of several cannot be said")
        elseif header.value:find("[*?]") then
            error("to a " .. KIND .. " * and ? stand for letters: " .. header.value .. " cannot be matched exactly")
        end
        name = header.name
        table.insert(values, header.value)
    end
    return name, values
end

if obj.matches ~= nil and #obj.matches > 0 then
    local name, values = values_of(obj.matches)
    if name == "canary-by-cookie" then
        annotations[PREFIX .. "canary-by-cookie"] = cookie_name(obj.matches[1].headers[1])
    else
        annotations[PREFIX .. "canary-by-header"] = name
        annotations[PREFIX .. "canary-by-header-value"] = json.encode({values = values})
    end
    annotations[PREFIX .. "canary-weight"] = nil
end
return annotations
