-- How a kind says which Service an entry of its lists leads to.
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

---Backends that name a Service in a field, from a description. What a description does not say is not asked for:
---
---* `name`: the field with the Service's name; `port`: the field with its port, where one Service may stand there twice
---* `namespace`: the field with a namespace; an entry of another namespace is not the Service
---* `kinds`, `groups`: what the entry's `kind` and `group` may be; leaving them out is always fine
---* `only`: a function that says whether an entry is a backend at all
---* `drop`: fields that belong to the old version alone
---* `without_weight`: what an entry without a weight counts as, a number or a function of the list
---* `most`: the greatest weight that the kind takes
---* `exact`: the new version is named at 0 % too, weights grow only where a share is no whole number, and one may be 0
---* `headers`: a function `(entry, modifier)` that changes headers of what goes to one entry, or why that cannot be
---* `is_stable`, `canary`, `address`: functions of an entry for kinds that say it in another way: whether it leads to the
---  stable Service; a copy that leads to the new version, without a weight; a text that two entries share if they lead to
---  the same
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

---What an entry without a weight counts as, for kinds where several entries without any have the same share, and one beside
---others with a weight has none. To be given as `without_weight`.
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
