-- What gateways report in the status of an object, for the second chunk of a script (after --@taken): did they take it?

local reports = {}

---The condition of a type; nil if there is none.
---@param list? table[]
---@param type string
---@return table?
function reports.condition(list, type)
    for _, condition in ipairs(list or {}) do
        if condition.type == type then
            return condition
        end
    end
    return nil
end

---The reason and the message of a condition.
---@param condition table
---@return string
function reports.words(condition)
    local reason, message = condition.reason or "", condition.message or ""
    return reason .. (reason ~= "" and message ~= "" and ": " or "") .. message
end

---A report in one condition; nil while there is none.
---@param name string who reports
---@param list? table[] the conditions
---@param type string
---@return moonshift.Report?
function reports.of(name, list, type)
    local condition = reports.condition(list, type)
    return condition and {
        name = name, taken = condition.status == "True", pending = condition.status == "Unknown",
        generation = condition.observedGeneration, words = reports.words(condition),
    }
end

local function is_late(report, generation)
    return report.pending or (report.generation ~= nil and report.generation < generation)
end

local function by_name(list)
    local found = {}
    for _, report in ipairs(list) do
        found[report.name] = report
    end
    return found
end

---The answer of a second chunk. A reporter that had not taken the owner's own object before the release is not waited
---for, nor is anybody where nobody reports. An old report is waited for.
---@param obj moonshift.TakenInput
---@param read fun(status: table): moonshift.Report[] the reports in a status, each with another name
---@return {taken: true}|{wait: string}|{refused: string}
function reports.verdict(obj, read)
    local now, before = read(obj.status), obj.before and read(obj.before.status) or {}
    local known, present, waits = by_name(before), by_name(now), nil
    for _, report in ipairs(before) do
        if report.taken and not is_late(report, obj.before.generation) and not present[report.name] then
            waits = report.name .. " reports nothing any more"
        end
    end
    for _, report in ipairs(now) do
        local old = known[report.name]
        if old == nil or (old.taken and not is_late(old, obj.before.generation)) then
            if is_late(report, obj.generation) then
                waits = waits or report.name .. " has not answered about generation " .. obj.generation
            elseif not report.taken then
                return {refused = report.name .. (report.words and ": " .. report.words or "")}
            end
        end
    end
    return waits and {wait = waits} or {taken = true}
end

---The reports of a route's parents: the route, all of its backends, and each of its rules.
---@param status {parents?: table[]}
---@return moonshift.Report[]
function reports.of_parents(status)
    local found = {}
    for _, parent in ipairs(status.parents or {}) do
        local ref = parent.parentRef or {}
        local name = (parent.controllerName or "") .. " for " .. (ref.kind or "Gateway") .. " " .. (ref.name or "")
            .. (ref.sectionName and "/" .. ref.sectionName or "") .. (ref.port and ":" .. ref.port or "")
        local report = reports.of(name, parent.conditions, "Accepted") or {name = name, taken = false, pending = true}
        for _, condition in ipairs(parent.conditions or {}) do
            local bad = condition.type == "PartiallyInvalid" and "True" or condition.type == "ResolvedRefs" and "False"
            if report.taken and condition.status == bad then
                report.taken, report.words = false, reports.words(condition)
                report.generation = condition.observedGeneration
            end
        end
        table.insert(found, report)
    end
    return found
end

return reports
