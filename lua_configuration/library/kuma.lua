-- Services of Kuma's mesh, as MeshHTTPRoute and MeshTCPRoute name them.
--@use tables, steps, backends, weights, subsets

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

---The backends of a rule. A rule without references has the target of its list.
---@param rule table
---@param target table
---@return table[]
function kuma.refs_of(rule, target)
    local refs = rule.default and rule.default.backendRefs
    return refs and #refs > 0 and refs or {tables.copy(target)}
end

local function tags_of(ref)
    return ref.kind == "MeshServiceSubset" and ref.tags or nil
end

-- The targets of the lists and all references of their rules that lead to the stable Service.
local function entries_to(step, names_stable)
    local result = {}
    local function take(ref)
        if ref and names_stable(ref) then
            table.insert(result, ref)
        end
    end
    for _, to in ipairs(step.spec.to or {}) do
        for _, rule in ipairs(to.rules or {}) do
            for _, ref in ipairs(kuma.refs_of(rule, to.targetRef or {})) do
                take(ref)
            end
        end
    end
    return result
end

-- The pods of the new version need not have the tags of the old one; their Service alone chooses them.
local function without_own_tags(ref)
    if tags_of(ref) == nil then
        return
    end
    for tag in pairs(subsets.own_tags(ref.tags)) do
        ref.tags[tag] = nil
    end
    if next(ref.tags) == nil then
        ref.kind, ref.tags = "MeshService", nil
    end
end

---References to Services of the mesh; the default weight is 1.
---@param step moonshift.Step
---@param headers? string why headers cannot be changed for one backend
---@return moonshift.Backends
function kuma.backends(step, headers)
    local function names_stable(ref)
        local holder, key, rest = named_by(step, ref)
        return holder ~= nil and holder[key] == step.stable .. rest
    end
    local has_our_pods = subsets.of_release_by_tags(step, entries_to(step, names_stable), tags_of)
    return backends.of(step, {
        is_stable = function(ref) return names_stable(ref) and has_our_pods(ref) end,
        canary = function(ref)
            local result = tables.copy(ref)
            local holder, key, rest = named_by(step, result)
            holder[key], result.weight = step.canary .. rest, nil
            without_own_tags(result)
            return result
        end,
        address = function(ref)
            local holder, key = named_by(step, ref)
            return holder and tostring(holder[key]) .. ":" .. tostring(ref.port or ref.sectionName)
                .. ":" .. subsets.name_of_tags(tags_of(ref))
        end,
        headers = headers, without_weight = 1, most = 1000000000,
    })
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
