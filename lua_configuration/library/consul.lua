-- Services of Consul, as ServiceRouter and ServiceSplitter name them.
--@use tables, steps, backends, subsets

local consul = {}

---The backends in destinations and splits. An entry without a name means the Service after which the object is named. If
---both versions share one Service, a subset of a ServiceResolver is the new version (`params.subset`, else "canary"). Of
---several other subsets, those with pods of the release are in `params.stableSubset`: a resolver's filters are not known here.
---@param step moonshift.Step
---@param entries table[] all destinations or splits of the object
---@return moonshift.Backends
function consul.destinations(step, entries)
    local own_name, subset = (step.obj.object or {}).name, step.params.subset or "canary"
    local one_service = step.stable == step.canary
    local function names_stable(entry)
        local named = (entry.service or own_name) == step.stable and steps.here(step, entry.namespace)
        return named and not (one_service and entry.serviceSubset == subset)
    end
    local names, whole = {}, false
    for _, entry in ipairs(entries) do
        if names_stable(entry) and (entry.serviceSubset or "") ~= "" then
            tables.add(names, entry.serviceSubset)
        else
            whole = whole or names_stable(entry)
        end
    end
    local ours = subsets.of_release(step, names, whole, function() return nil end)
    return backends.of(step, {
        is_stable = function(entry)
            return names_stable(entry) and ((entry.serviceSubset or "") == "" or ours[entry.serviceSubset])
        end,
        canary = function(entry)
            local result = tables.copy(entry)
            result.weight = nil
            if one_service then
                result.serviceSubset = subset
            else
                result.service, result.serviceSubset = step.canary, nil
            end
            return result
        end,
        address = function(entry)
            return steps.here(step, entry.namespace)
                and tostring(entry.service or own_name) .. ":" .. tostring(entry.serviceSubset)
        end,
        headers = consul.change_headers, without_weight = 0, most = 10000,
    })
end

---Changes headers of a destination or a split.
---@param holder {requestHeaders?: table}
---@param modifier moonshift.HeaderModifier
function consul.change_headers(holder, modifier)
    holder.requestHeaders = holder.requestHeaders or {}
    local headers = holder.requestHeaders
    for _, verb in ipairs({"set", "add"}) do
        for _, header in ipairs(modifier[verb] or {}) do
            headers[verb] = headers[verb] or {}
            headers[verb][header.name] = header.value
        end
    end
    for _, name in ipairs(modifier.remove or {}) do
        headers.remove = headers.remove or {}
        tables.add(headers.remove, name)
    end
end

---Whether the release also names the object of another kind for the same Service.
---@param step moonshift.Step
---@param kind string
---@return boolean
function consul.has_sibling(step, kind)
    for _, other in ipairs(step.obj.siblings or {}) do
        if other.kind == kind and other.name == (step.obj.object or {}).name then
            return true
        end
    end
    return false
end

return consul
