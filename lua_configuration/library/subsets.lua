-- Subsets of the stable Service: those with pods of the release, and those of other workloads, which keep what they have.
--@use tables

local subsets = {}

-- Labels of the place where a pod runs; a mesh adds them, no pod has them.
local function of_the_place(label)
    return label:find("^topology%.") ~= nil or label:find("^kuma%.io/") ~= nil
end

-- Whether the stable pods have these labels; nil if that is not known.
local function has_stable_pods(step, labels)
    local pods = step.obj.stablePodLabels
    if pods == nil or labels == nil then
        return nil
    end
    for label, value in next, labels do
        if pods[label] ~= value and not of_the_place(label) then
            return false
        end
    end
    return true
end

-- The subsets that `params.stableSubset` names: one, or a list.
local function named_by_params(step)
    local named = step.params.stableSubset
    return type(named) == "string" and {named} or named
end

---The subsets of the stable Service that have pods of the release: those that `params.stableSubset` names, or those whose
---labels the stable pods have, or the only one. An error if that is not known, or if no destination is left.
---@param step moonshift.Step
---@param names string[] the subsets that the object names, without that of the new version
---@param whole boolean the object also names the Service without a subset
---@param labels_of fun(name: string): table? the labels of a subset; nil if they are not known
---@param remedy? string what makes them known
---@return table<string, boolean>
function subsets.of_release(step, names, whole, labels_of, remedy)
    local result, unknown, found, given = {}, false, whole or #names == 0, named_by_params(step)
    table.sort(names)
    for _, name in ipairs(names) do
        local ours = given and tables.contains(given, name)
        if not given then
            ours = has_stable_pods(step, labels_of(name))
            unknown = unknown or (ours == nil and #names > 1)
            ours = ours == nil or ours
        end
        result[name], found = ours, found or ours
    end
    local shown = "Service " .. step.stable .. " has the subsets " .. table.concat(names, ", ") .. " in this " .. step.kind
    if unknown then
        error(shown .. ", and it is not known which of them have the pods of this release: "
            .. (remedy and remedy .. ", or " or "") .. "give params.stableSubset")
    elseif not found then
        error(shown .. ", and none of them has the stable pods of this release")
    end
    return result
end

---The value of a field on which all subsets with stable pods agree; nil if they do not. If the labels of the pods are not
---known, all subsets have to agree.
---@param step moonshift.Step
---@param list table[] subsets with labels
---@param field string
---@return any value
---@return boolean agree
function subsets.common(step, list, field)
    local ours = {}
    for _, subset in ipairs(list) do
        if has_stable_pods(step, subset.labels or {}) ~= false then
            table.insert(ours, subset)
        end
    end
    for _, subset in ipairs(ours) do
        if not tables.same(subset[field], ours[1][field]) then
            return nil, false
        end
    end
    return ours[1] and tables.copy(ours[1][field]), true
end

---Tags that choose pods, as Kuma has them: those that the mesh adds itself are left out.
---@param tags table<string, string>?
---@return table<string, string>
function subsets.own_tags(tags)
    local result = {}
    for tag, value in next, tags or {} do
        result[tag] = not of_the_place(tag) and value or nil
    end
    return result
end

---Tags as a text, which is the name of their subset; empty for none.
---@param tags table<string, string>?
---@return string
function subsets.name_of_tags(tags)
    local parts = {}
    for tag, value in next, subsets.own_tags(tags) do
        table.insert(parts, tag .. "=" .. tostring(value))
    end
    table.sort(parts)
    return table.concat(parts, ",")
end

---The same as `of_release` for kinds whose entries choose pods by tags: a function that says whether an entry has pods of the
---release.
---@param step moonshift.Step
---@param entries table[] the entries that lead to the stable Service
---@param tags_of fun(entry: table): table? the tags of an entry
---@return fun(entry: table): boolean
function subsets.of_release_by_tags(step, entries, tags_of)
    local names, whole, tags = {}, false, {}
    for _, entry in ipairs(entries) do
        local name = subsets.name_of_tags(tags_of(entry))
        if name == "" then
            whole = true
        else
            tables.add(names, name)
            tags[name] = subsets.own_tags(tags_of(entry))
        end
    end
    local ours = subsets.of_release(step, names, whole, function(name) return tags[name] end)
    return function(entry)
        local name = subsets.name_of_tags(tags_of(entry))
        return name == "" or ours[name] == true
    end
end

return subsets
