--@name Higress Ingress
--@can weight,header,header-regex,cookie,query,path,header-modifier
--@regex re2
--@use steps, conditions, ingresses, ingress_classes
--
-- A share is said by a canary Ingress, as with ingress-nginx. Matches are said by an Ingress of its own for each alternative,
-- with annotations that hold together and a route that comes before the owner's. Matches win over a share.
-- Where the Ingress has a higress.io/destination, that says for all its paths where requests go: it is divided in place, and an
-- Ingress for a match has one of its own. Its percentages are whole and have the sum 100.
-- obj.params.both: the share of the rest as well, by one Ingress more or in place.

local KIND = "Ingress of Higress"
ingress_classes.check(obj, "Higress", {"higress"})
local NGINX, HIGRESS = "nginx.ingress.kubernetes.io/", "higress.io/"
local DESTINATION = HIGRESS .. "destination"
local REWRITES = {
    [NGINX .. "rewrite-target"] = false, [HIGRESS .. "rewrite-target"] = false, [HIGRESS .. "rewrite-path"] = false,
}
local params = obj.params or {}
local stable, canary = obj.stableService, obj.canaryService
local given = (obj.data.annotations or {})[DESTINATION]

local function without_canary(annotations)
    ingresses.clear_canary(annotations, NGINX)
    ingresses.clear_canary(annotations, HIGRESS)
    return annotations
end

local function condition(annotations, what, item)
    local kind = item.type == "RegularExpression" and "regex" or "exact"
    local name, value = item.name, item.value
    if what == "header" and name == "canary-by-cookie" then
        local cookie, wanted = conditions.cookie(value)
        kind, name, value = "regex", "cookie", conditions.cookie_pattern({name = cookie, value = wanted})
    end
    local key = HIGRESS .. kind .. "-match-" .. what .. "-" .. name
    if annotations[key] ~= nil and annotations[key] ~= value then
        error("the Ingress already matches " .. what .. " " .. name)
    end
    annotations[key] = value
end

-- What follows the name in a host that is the stable Service: nothing, or its namespace; else nil.
local function form_of(host)
    local name, rest = host:match("^([^.]+)(.*)$")
    local namespace = obj.object and obj.object.namespace
    local owner, behind = rest:match("^%.([^.]+)(.*)$")
    local plain = rest == "" or behind == "" or behind == ".svc" or (behind or ""):sub(1, 5) == ".svc."
    if name == stable and plain and (owner == nil or namespace == nil or owner == namespace) then
        return rest
    end
end

-- A line is `[percent] host[:port] [subset]`.
local function line_of(text)
    local percent, address, subset = text:match("^%s*(%d+)%%%s+(%S+)%s*(.-)%s*$")
    if percent == nil then
        percent, address, subset = "100", text:match("^%s*([^%s%%]+)%s*(.-)%s*$")
    end
    if address == nil or subset:find("%s") then
        error("the annotation " .. DESTINATION .. " cannot be read: " .. text)
    end
    local host, port = address:match("^(.-)(:%d+)$")
    local form = form_of(host or address)
    return {
        share = tonumber(percent), address = address, subset = subset,
        twin = form and canary .. form .. (port or ""),
    }
end

local function text_of(share, address, subset)
    return math.floor(share) .. "% " .. address .. (subset ~= "" and " " .. subset or "")
end

local function lines_of(text)
    local result, sum = {}, 0
    for line in text:gmatch("[^\r\n]+") do
        table.insert(result, line_of(line))
        sum = sum + result[#result].share
    end
    if sum ~= 100 then
        error("the percentages of " .. DESTINATION .. " add up to " .. sum .. ", not to 100: Higress passes over it")
    end
    return result
end

-- The stable Service's lines, each with what it and the new version's line of the same form have together.
local function parts_of(lines)
    local result, total = {}, 0
    for _, line in ipairs(lines) do
        if line.twin then
            local part = {line = line, whole = line.share}
            for _, other in ipairs(lines) do
                if other.address == line.twin and other.subset == line.subset then
                    part.known, part.whole = other, part.whole + other.share
                end
            end
            total = total + part.whole
            table.insert(result, part)
        end
    end
    if #result == 0 then
        error("no line of the annotation " .. DESTINATION .. " points at Service " .. stable)
    elseif total == 0 then
        error("nothing has more than 0 % in the lines of " .. DESTINATION .. " that point at Service " .. stable)
    end
    return result, total
end

-- Whole numbers for the parts whose sum is `percent` of all, and not nothing for something.
local function shares_of(parts, percent)
    local result, before, after = {}, 0, 0
    for index, part in ipairs(parts) do
        after = after + part.whole * percent / 100
        result[index] = math.floor(after + 0.5) - math.floor(before + 0.5)
        before = after
    end
    if math.floor(after + 0.5) == 0 and percent > 0 then
        for index, part in ipairs(parts) do
            if part.whole > 0 then
                result[index] = 1
                break
            end
        end
    end
    return result
end

-- The destination of an Ingress that leads to the new version alone.
local function canary_destination()
    local parts, total = parts_of(lines_of(given))
    local shares, result = shares_of(parts, 10000 / total), {}
    for index, part in ipairs(parts) do
        table.insert(result, text_of(shares[index], part.line.twin, part.line.subset))
    end
    return table.concat(result, "\n") .. "\n"
end

-- The owner's destination with the new version's share.
local function divided()
    steps.only_whole_percents({kind = KIND, weight = obj.canaryWeight})
    if obj.requestHeaderModifier ~= nil then
        error("no " .. KIND .. " can change headers for a part of its " .. DESTINATION .. ": give the step matches instead")
    elseif stable == canary then
        error("no " .. KIND .. " can tell revisions of one Service apart: the new one needs a Service of its own")
    end
    local lines = lines_of(given)
    local parts = parts_of(lines)
    local shares, behind, result = shares_of(parts, obj.canaryWeight), {}, {}
    for index, part in ipairs(parts) do
        part.line.share = part.whole - shares[index]
        if part.known then
            part.known.share = shares[index]
        elseif shares[index] > 0 then
            behind[part.line] = text_of(shares[index], part.line.twin, part.line.subset)
        end
    end
    for _, line in ipairs(lines) do
        table.insert(result, text_of(line.share, line.address, line.subset))
        table.insert(result, behind[line])
    end
    return table.concat(result, "\n") .. (given:find("\n$") and "\n" or "")
end

local function matching(number, match)
    local result = ingresses.beside(obj, KIND, number, match, REWRITES)
    if result == nil then
        return nil
    end
    local annotations = without_canary(result.metadata.annotations)
    for _, header in ipairs(match.headers or {}) do
        condition(annotations, "header", header)
    end
    for _, parameter in ipairs(match.queryParams or {}) do
        condition(annotations, "query", parameter)
    end
    if match.method then
        error("no " .. KIND .. " can match methods")
    end
    ingresses.change_headers(annotations, HIGRESS, obj.requestHeaderModifier)
    annotations[DESTINATION] = given and canary_destination()
    return result
end

local function sharing(number)
    steps.only_whole_percents({kind = KIND, weight = obj.canaryWeight})
    local result = ingresses.beside(obj, KIND, number)
    local annotations = without_canary(result.metadata.annotations)
    annotations[NGINX .. "canary"], annotations[NGINX .. "canary-weight"] = "true", obj.weight
    ingresses.change_headers(annotations, HIGRESS, obj.requestHeaderModifier)
    return result
end

local objects = {}
local wanted = obj.matches or {}
for number, match in ipairs(wanted) do
    table.insert(objects, matching(number, match))
end
if #wanted > 0 then
    ingresses.check_served(obj, KIND, objects)
end
local shared = #wanted == 0 or params.both
if given ~= nil and shared and obj.canaryWeight >= 0 then
    obj.data.annotations[DESTINATION] = divided()
    obj.data.objects = #objects > 0 and objects or nil
    return obj.data
elseif shared and obj.canaryWeight > 0 then
    table.insert(objects, sharing(#objects + 1))
end
return {objects = objects}
