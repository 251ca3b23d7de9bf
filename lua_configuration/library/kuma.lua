-- Services of Kuma's mesh, as MeshHTTPRoute and MeshTCPRoute name them.
--@use tables, steps, backends, weights

local kuma = {}

-- A MeshService is named by its name, by <service>_<namespace>_svc_<port>, or by labels. These parts of a reference show
-- the form: the holder, the key in it, and the text after the Service's name.
local function named_by(step, ref)
    if ref.kind ~= "MeshService" and ref.kind ~= "MeshServiceSubset" then
        return nil
    elseif ref.labels then
        local owner = ref.labels["k8s.kuma.io/namespace"]
        return steps.here(step, owner) and ref.labels or nil, "kuma.io/display-name", ""
    end
    local name, owner, port = (ref.name or ""):match("^(.-)_([^_]+)_svc(.*)$")
    if name == nil then
        return steps.here(step, ref.namespace) and ref or nil, "name", ""
    end
    return steps.here(step, owner) and ref or nil, "name", "_" .. owner .. "_svc" .. port
end

---References to Services of the mesh; the default weight is 1.
---@param step moonshift.Step
---@param headers? string why headers cannot be changed for one backend
---@return moonshift.Backends
function kuma.backends(step, headers)
    return backends.of(step, {
        is_stable = function(ref)
            local holder, key, rest = named_by(step, ref)
            return holder ~= nil and holder[key] == step.stable .. rest
        end,
        canary = function(ref)
            local result = tables.copy(ref)
            local holder, key, rest = named_by(step, result)
            holder[key], result.weight = step.canary .. rest, nil
            return result
        end,
        address = function(ref)
            local holder, key = named_by(step, ref)
            return holder and tostring(holder[key]) .. ":" .. tostring(ref.port or ref.sectionName)
        end,
        headers = headers, without_weight = 1, most = 1000000000,
    })
end

---The backends of a rule. A rule without references has the target of its list.
---@param rule table
---@param target table
---@return table[]
function kuma.refs_of(rule, target)
    local refs = rule.default and rule.default.backendRefs
    return refs and #refs > 0 and refs or {tables.copy(target)}
end

---Divides the stable Service's share in every rule.
---@param step moonshift.Step
---@param services moonshift.Backends
function kuma.divide(step, services)
    for _, to in ipairs(step.spec.to or {}) do
        for _, rule in ipairs(to.rules or {}) do
            local refs = kuma.refs_of(rule, to.targetRef)
            if weights.divide(step, services, refs) then
                rule.default = rule.default or {}
                rule.default.backendRefs = refs
            end
        end
    end
end

return kuma
