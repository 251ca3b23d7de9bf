--@name MSE Ingress
--@can weight,header,header-regex,cookie,query,both,header-modifier
--@use ingresses, ingress_classes
--
-- A canary Ingress beside the owner's: one header, one cookie or one parameter chooses the new version. Changes of headers
-- are said one in a line. Where both versions share one Service, the subset gray is led to.

local PREFIX, KIND = "nginx.ingress.kubernetes.io/", "canary Ingress of MSE"
ingress_classes.check(obj, "MSE", {"mse", "nginx"})
local MSE = "mse.ingress.kubernetes.io/"

local annotations = ingresses.canary_annotations(obj, KIND, PREFIX, true)
for _, key in ipairs({"canary-by-query", "canary-by-query-pattern", "canary-by-query-value"}) do
    annotations[MSE .. key] = nil
end
if annotations[MSE .. "service-subset"] ~= nil or obj.stableService == obj.canaryService then
    annotations[MSE .. "service-subset"] = "gray"
end
-- One in a line; the original wrote them behind each other, so that the second was lost.
ingresses.change_headers(annotations, MSE, obj.requestHeaderModifier)

local function match_query(parameter)
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
        match_query(parameters[1])
    elseif #parameters > 0 then
        error("a " .. KIND .. " has one condition: a parameter and others that hold together cannot be said")
    else
        ingresses.match_header(annotations, KIND, PREFIX, ingresses.one_header(obj.matches, KIND))
    end
end
return annotations
