-- For kinds whose routes refer to backends by their own names, and which declare these backends elsewhere in the object:
-- the new version gets a copy of each backend of the stable Service.
--@use tables

local named_backends = {}

---Looks through the declared backends. For each backend of the stable Service there is one of the new version: the
---declared one if there is one, otherwise a copy called `<name>-canary`.
---@param step moonshift.Step
---@param declared table[]?
---@param fields {service: string, port: string, noun: string, longest?: integer, only?: fun(backend: table): boolean} where a
---  backend has its Service and its port, its name in messages, the most letters of a name, and whether it leads to a
---  Service at all
---@return table<string, string> twins names of the stable Service's backends: for each, the new version's backend
---@return table[] complete the declared backends with the copies
function named_backends.with_copies(step, declared, fields)
    local twins, complete, by_name, by_port = {}, {}, {}, {}
    for _, backend in ipairs(declared or {}) do
        by_name[backend.name] = backend
        if backend[fields.service] == step.canary then
            by_port[tostring(backend[fields.port])] = backend.name
        end
    end
    for _, backend in ipairs(declared or {}) do
        table.insert(complete, backend)
        if backend[fields.service] == step.stable and (fields.only == nil or fields.only(backend)) then
            local name = backend.name .. "-canary"
            local namesake, there = by_name[name], by_port[tostring(backend[fields.port])]
            if namesake and namesake[fields.service] ~= step.canary then
                local service = namesake[fields.service]
                error(fields.noun .. " named " .. name .. " is there already, for "
                    .. (service and "Service " .. service or "another Service"))
            end
            twins[backend.name] = (namesake and name) or there or name
            if by_name[twins[backend.name]] == nil then
                if fields.longest and #name > fields.longest then
                    error(fields.noun .. " cannot be named " .. name .. ": a name has at most " .. fields.longest .. " letters")
                end
                local twin = tables.copy(backend)
                twin.name, twin[fields.service] = name, step.canary
                table.insert(complete, twin)
            end
        end
    end
    return twins, complete
end

return named_backends
