-- How a kind names the Service of an entry in its lists of backends.
--@use tables, steps

local backends = {}

local function one_of(value, allowed)
    if value == nil or allowed == nil then
        return true
    end
    for _, known in ipairs(allowed) do
        if value == known then
            return true
        end
    end
    return false
end

---Backends that name a Service in a field, made from a description. A field that the description omits is not used:
---
---* `name`: the field with the Service's name; `port`: the field with its port, if one list may name a Service twice
---* `namespace`: the field with a namespace; an entry of another namespace is not the Service
---* `kinds`, `groups`: the allowed values of the entry's `kind` and `group`; an entry may always omit them
---* `only`: a function that says whether an entry is a backend at all
---* `drop`: fields that belong only to the old version
---* `without_weight`: the weight of an entry that has none: a number, or a function of the list
---* `most`: the greatest weight that the kind accepts
---* `exact`: the new version is also named at 0 %; weights grow only if a share is not a whole number; a weight may be 0
---* `headers`: a function `(entry, modifier)` that changes the headers of requests to one entry, or a text why it cannot
---* `is_stable`, `canary`, `address`: functions of an entry, for kinds that name Services differently: whether the entry
---  leads to the stable Service; a copy, without a weight, that leads to the new version; a text that is equal for two
---  entries that lead to the same backend
---@param step moonshift.Step
---@param description moonshift.BackendDescription
---@return moonshift.Backends
function backends.of(step, description)
    local name, port, namespace = description.name, description.port, description.namespace
    local function is_service(entry)
        return one_of(entry.kind, description.kinds) and one_of(entry.group, description.groups)
            and (namespace == nil or steps.here(step, entry[namespace]))
            and (description.only == nil or description.only(entry))
    end
    local headers = description.headers or "no " .. step.kind .. " can change headers for one revision"
    return {
        is_stable = description.is_stable or function(entry)
            return entry[name] == step.stable and is_service(entry)
        end,
        canary = description.canary or function(entry)
            local result = tables.copy(entry)
            result[name], result.weight = step.canary, nil
            for _, field in ipairs(description.drop or {}) do
                result[field] = nil
            end
            return result
        end,
        address = description.address or function(entry)
            return is_service(entry) and tostring(entry[name]) .. ":" .. tostring(port and entry[port])
        end,
        change_headers = type(headers) == "function" and headers or function()
            error(headers)
        end,
        without_weight = description.without_weight, most = description.most, exact = description.exact,
    }
end

---The weight of an entry without one, for kinds in which several entries without weights share equally, but an entry
---without a weight beside others with weights gets nothing. Use it as `without_weight`.
---@param entries table[]
---@return number
function backends.even_or_nothing(entries)
    for _, entry in ipairs(entries) do
        if entry.weight ~= nil then
            return 0
        end
    end
    return 1
end

return backends
