--@name Istio DestinationRule
--@can weight,subpercent,header,header-regex,query,path,method,cookie,both,header-modifier
--@use istio, steps, subsets
--
-- Where the old and the new revision share one Service, a subset tells them apart: this adds the subset `canary`, which
-- VirtualServices of the same release point at. It says the same at every step and has no weights or matches of its own,
-- so it can go along with anything.
--
-- With a canary Service of its own the revisions need no subset, and nothing is changed.
--
-- The subset selects by the labels that the new pods are given (patchPodTemplateMetadata.labels of the release), or by
-- istio.service.tag=gray where there are none, which is what pods of an end-to-end canary carry by convention. It has the
-- trafficPolicy of the subsets with stable pods, if they agree on one.

local NAME = "canary"

local data = obj.data
if obj.canaryService ~= obj.stableService then
    return data
end
if data.spec == nil then
    error("this DestinationRule has no spec")
end
local host = tostring(data.spec.host)
if not host:find("*", 1, true) and not istio.suffix_of(host, obj.stableService, (obj.object or {}).namespace) then
    error("this DestinationRule is for host " .. host .. ", not for Service " .. obj.stableService)
end

local labels = {}
for key, value in pairs(obj.patchPodMetadata and obj.patchPodMetadata.labels or {}) do
    labels[key] = value
end
if next(labels) == nil then
    labels["istio.service.tag"] = "gray"
end

local function same_labels(other)
    for key, value in pairs(labels) do
        if other[key] ~= value then
            return false
        end
    end
    for key in pairs(other) do
        if labels[key] == nil then
            return false
        end
    end
    return true
end

data.spec.subsets = data.spec.subsets or {}
for _, subset in ipairs(data.spec.subsets) do
    if subset.name == NAME then
        if same_labels(subset.labels or {}) then
            return data
        end
        error("this DestinationRule has a subset named " .. NAME .. " of its own, with other labels; rename it")
    end
end
local policy, agree = subsets.common(steps.of(obj, "DestinationRule", true), data.spec.subsets, "trafficPolicy")
if not agree then
    print("the subset " .. NAME .. " gets no trafficPolicy: those of the subsets with stable pods differ")
end
table.insert(data.spec.subsets, {name = NAME, labels = labels, trafficPolicy = policy})
return data
