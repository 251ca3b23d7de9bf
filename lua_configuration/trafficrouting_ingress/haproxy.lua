--@name HAProxy Ingress
--@can header,header-regex,cookie,path
--@regex pcre
--@use conditions, ingresses, ingress_classes, other_paths
--
-- An Ingress of its own for each alternative of a step, with headers that hold together (version 0.15 and later). Paths with
-- headers come before all others, so longer paths of other Services stand in it as well. It has no shares: its
-- blue-green-balance goes by labels of pods, not by Services. An expression is searched for, so it is bound to the whole value.

local KIND, PREFIX = "Ingress of HAProxy", "haproxy-ingress.github.io/"
ingress_classes.check(obj, "HAProxy", {"haproxy"})

if obj.matches == nil or #obj.matches == 0 then
    error("no " .. KIND .. " can divide requests by weight: a step needs matches")
elseif obj.requestHeaderModifier ~= nil then
    error("no " .. KIND .. " can change headers for the new version alone")
end

local function matching(number, match)
    if match.method or #(match.queryParams or {}) > 0 then
        error("no " .. KIND .. " can match methods or query parameters")
    end
    local exact, regex = {}, {}
    for _, header in ipairs(match.headers or {}) do
        if header.name == "canary-by-cookie" then
            local name, value = conditions.cookie(header.value)
            table.insert(regex, "cookie: " .. conditions.cookie_pattern({name = name, value = value}, true))
        elseif header.type == "RegularExpression" then
            table.insert(regex, header.name .. ": ^(?:" .. header.value .. ")$")
        else
            table.insert(exact, header.name .. ": " .. header.value)
        end
    end
    local result = ingresses.beside(obj, KIND, number, match, {[PREFIX .. "rewrite-target"] = false})
    if result == nil then
        return nil
    end
    other_paths.keep(obj, result)
    for key, lines in pairs({["http-header-match"] = exact, ["http-header-match-regex"] = regex}) do
        local own = result.metadata.annotations[PREFIX .. key]
        if own ~= nil then
            table.insert(lines, 1, own)
        end
        if #lines > 0 then
            result.metadata.annotations[PREFIX .. key] = table.concat(lines, "\n")
        end
    end
    return result
end

local objects = {}
for number, match in ipairs(obj.matches) do
    table.insert(objects, matching(number, match))
end
ingresses.check_served(obj, KIND, objects)
return {objects = objects}
