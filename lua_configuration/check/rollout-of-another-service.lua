--@name Rollout of another service
--@does check
--@asks get
--@params rollout
--@docs https://kubernetes.io/docs/reference/using-api/api-concepts/
-- Passes when no release of the other Rollout is under way: what this release needs from it is there.
if not obj.answers then
    return {ask = {{get = {apiVersion = "rollouts.kruise.io/v1beta1", kind = "Rollout", name = obj.params.rollout}}}}
end
local found = obj.answers[1].object
if obj.answers[1].status == 404 or not found then return {fail = "there is no Rollout " .. obj.params.rollout} end
local status = found.status or {}
local said = "Rollout " .. obj.params.rollout .. " is " .. (status.phase or "new")
if status.observedGeneration ~= found.metadata.generation or status.phase ~= "Healthy" then
    return {hold = said .. (status.message and ": " .. status.message or ""), again = 15}
end
return {pass = said}
