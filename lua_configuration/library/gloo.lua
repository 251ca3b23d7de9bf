-- Destinations of Gloo, as UpstreamGroup, VirtualService and RouteTable have them.
--@use tables, steps, backends

local gloo = {}

-- A destination is a Service by reference, or the upstream that discovery names <namespace>-<service>-<port>.
local function upstream_port(step, destination)
    local name, prefix = (destination.upstream or {}).name or "", tostring(step.namespace) .. "-" .. step.stable .. "-"
    return name:sub(1, #prefix) == prefix and name:sub(#prefix + 1):match("^%d+$")
end

local function is_stable(step, destination)
    local ref = destination.kube and destination.kube.ref
    return (ref and ref.name == step.stable and steps.here(step, ref.namespace)) or upstream_port(step, destination)
end

local function canary_entry(step, entry)
    local result = tables.copy(entry)
    local destination = result.destination
    if destination.kube then
        destination.kube.ref.name = step.canary
    else
        local name = tostring(step.namespace) .. "-" .. step.canary .. "-" .. upstream_port(step, destination)
        if #name > 63 then
            error("Gloo shortens the name of the upstream " .. name .. ": name Service " .. step.stable .. " by kube")
        end
        destination.upstream.name = name
    end
    result.weight = nil
    return result
end

local function address(step, entry)
    local destination = entry.destination or {}
    local kube = destination.kube
    if kube then
        return steps.here(step, kube.ref.namespace) and tostring(kube.ref.name) .. ":" .. tostring(kube.port)
    end
    return (destination.upstream or {}).name
end

---Changes headers in the options of a route or of a weighted destination, which have the same fields.
---@param holder {options?: table}
---@param modifier moonshift.HeaderModifier
function gloo.change_headers(holder, modifier)
    holder.options = holder.options or {}
    local change = holder.options.headerManipulation or {}
    holder.options.headerManipulation = change
    local function put(header, append)
        change.requestHeadersToAdd = change.requestHeadersToAdd or {}
        local list = change.requestHeadersToAdd
        local at = #list + 1
        for index, known in ipairs(list) do
            at = known.header and known.header.key:lower() == header.name:lower() and index or at
        end
        list[at] = {header = {key = header.name, value = header.value}, append = append}
    end
    for _, header in ipairs(modifier.set or {}) do
        put(header, false)
    end
    for _, header in ipairs(modifier.add or {}) do
        put(header, true)
    end
    for _, name in ipairs(modifier.remove or {}) do
        change.requestHeadersToRemove = change.requestHeadersToRemove or {}
        tables.add(change.requestHeadersToRemove, name)
    end
end

---Weighted destinations; a destination without a weight gets nothing.
---@param step moonshift.Step
---@return moonshift.Backends
function gloo.destinations(step)
    return backends.of(step, {
        is_stable = function(entry) return entry.destination and is_stable(step, entry.destination) end,
        canary = function(entry) return canary_entry(step, entry) end,
        address = function(entry) return address(step, entry) end,
        headers = gloo.change_headers, without_weight = 0, most = 1000000000,
    })
end

local STATES = {[0] = "Pending", "Accepted", "Rejected", "Warning"}

---The report of Gloo: one status, or one for each of its namespaces; states are words, or numbers in older versions.
---@param status table
---@return moonshift.Report[]
function gloo.reports(status)
    local found = {}
    local function add(where, report)
        local state = STATES[report.state] or report.state
        if state then
            table.insert(found, {
                name = (report.reportedBy or "Gloo") .. where, taken = state ~= "Rejected", pending = state == "Pending",
                words = report.reason,
            })
        end
    end
    add("", status)
    for namespace, report in pairs(status.statuses or {}) do
        add(" in " .. namespace, report)
    end
    return found
end

return gloo
