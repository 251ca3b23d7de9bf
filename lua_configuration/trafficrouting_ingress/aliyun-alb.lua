--@name Aliyun ALB Ingress
--@can weight,header,cookie
--@use ingresses, ingress_classes, named_annotations
--
-- A canary Ingress beside the owner's, with one condition; a header or cookie and a share cannot be on one Ingress, so
-- matches win. Its order is one before the owner's, which has to leave room for it (the default is 10, the lowest 1).
-- Rules are asked in the order of Ingresses and of paths, so with a condition it has the owner's other paths as well, as far
-- as they stand before those of the stable Service.

local PREFIX, KIND = "alb.ingress.kubernetes.io/", "canary Ingress of ALB"
ingress_classes.check(obj, "ALB", {"alb"})

local annotations = ingresses.canary_annotations(obj, KIND, PREFIX)

-- A rule of a lower order is looked at first. The original wrote 1 whatever the owner had.
local order = tonumber(annotations[PREFIX .. "order"] or 10)
if order == nil or order < 2 then
    error("the Ingress has the order " .. tostring(order) .. ": a " .. KIND .. " has to come before it, so it needs 2 or more")
end
annotations[PREFIX .. "order"] = tostring(order - 1)
-- The copy's paths lead to another Service; what is said about the stable one by its name is said about that one, too.
named_annotations.carry_named(annotations, PREFIX, obj.stableService, obj.canaryService, {actions = true})

if obj.matches == nil or #obj.matches == 0 then
    return annotations
end

local header = ingresses.one_header(obj.matches, KIND)
if header.type == "RegularExpression" then
    error("no " .. KIND .. " can match headers by regular expression")
end
ingresses.match_header(annotations, KIND, PREFIX, header)
annotations[PREFIX .. "canary-weight"] = nil

-- The owner's paths in their order, up to the last that leads to the stable Service; those lead to the new version here.
local function rules_in_order()
    local result, found = {}, false
    local owners = obj.data.spec.rules or {}
    for index = #owners, 1, -1 do
        local all, paths = owners[index].http and owners[index].http.paths or {}, {}
        for number = #all, 1, -1 do
            local service = all[number].backend and all[number].backend.service or {}
            local ours = service.name == obj.stableService
            found = found or ours
            if ours then
                service.name = obj.canaryService
            elseif found and annotations[PREFIX .. "conditions." .. tostring(service.name)] ~= nil then
                error("a path of Service " .. service.name .. " comes first and has conditions, which a " .. KIND
                    .. " cannot repeat: let it stand behind those of Service " .. obj.stableService)
            end
            if found then
                table.insert(paths, 1, all[number])
            end
        end
        if #paths > 0 then
            table.insert(result, 1, {host = owners[index].host, http = {paths = paths}})
        end
    end
    return result
end

local ingress, rules = ingresses.beside(obj, KIND, 1), rules_in_order()
ingress.metadata.annotations = annotations
ingress.spec.rules = #rules > 0 and rules or nil
return {objects = {ingress}}
