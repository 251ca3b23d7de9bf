--@name Huawei CCE ELB Ingress
--@can weight,header,cookie
--@use conditions, ingresses, ingress_classes, other_paths
--
-- A canary Ingress beside the owner's, for dedicated load balancers: one header or one cookie with the values that choose the
-- new version, or a share. Alternatives are values of one header or of one cookie.
-- With conditions, paths no longer tell which rule comes first, so longer paths of other Services stand in it as well.

local PREFIX, KIND = "kubernetes.io/elb.", "canary Ingress of ELB"
ingress_classes.check(obj, "ELB", {"cce", "elb"})

local annotations = ingresses.canary_annotations(obj, KIND, PREFIX)
annotations[PREFIX .. "canary-by-cookie-value"] = nil
if obj.matches == nil or #obj.matches == 0 then
    return annotations
end

-- Whether a header or a cookie is asked for, its name, and the value.
local function condition_of(match)
    local header = ingresses.one_header({match}, KIND)
    if header.type == "RegularExpression" then
        error("no " .. KIND .. " can match headers by regular expression")
    elseif header.value:find("[*?]") then
        error("to a " .. KIND .. " * and ? stand for letters: " .. header.value .. " cannot be matched exactly")
    elseif header.name == "canary-by-cookie" then
        return "cookie", conditions.cookie(header.value)
    end
    return "header", header.name, header.value
end

local sort, name, values = nil, nil, {}
for _, match in ipairs(obj.matches) do
    local what, key, value = condition_of(match)
    if sort ~= nil and (what ~= sort or key ~= name) then
        error("a " .. KIND .. " has one header or cookie: alternatives of several cannot be said")
    end
    sort, name = what, key
    table.insert(values, value)
end
annotations[PREFIX .. "canary-by-" .. sort] = name
annotations[PREFIX .. "canary-by-" .. sort .. "-value"] = json.encode({values = values})
annotations[PREFIX .. "canary-weight"] = nil

local ingress = ingresses.beside(obj, KIND, 1)
other_paths.keep(obj, ingress)
ingress.metadata.annotations = annotations
return {objects = {ingress}}
