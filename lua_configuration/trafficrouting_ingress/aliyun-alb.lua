--@name Aliyun ALB Ingress
--@can weight,header,cookie
--@use ingresses
--
-- A canary Ingress beside the owner's, with one condition; a header or cookie and a share cannot be on one Ingress, so
-- matches win. Its order is one before the owner's, which has to leave room for it (the default is 10, the lowest 1).

local PREFIX, KIND = "alb.ingress.kubernetes.io/", "canary Ingress of ALB"

local annotations = ingresses.canary_annotations(obj, KIND, PREFIX)

-- A rule of a lower order is looked at first. The original wrote 1 whatever the owner had.
local order = tonumber(annotations[PREFIX .. "order"] or 10)
if order == nil or order < 2 then
    error("the Ingress has the order " .. tostring(order) .. ": a " .. KIND .. " has to come before it, so it needs 2 or more")
end
annotations[PREFIX .. "order"] = tostring(order - 1)

if obj.matches ~= nil and #obj.matches > 0 then
    local header = ingresses.one_header(obj.matches, KIND)
    if header.type == "RegularExpression" then
        error("no " .. KIND .. " can match headers by regular expression")
    end
    ingresses.match_header(annotations, KIND, PREFIX, header)
    annotations[PREFIX .. "canary-weight"] = nil
end
return annotations
