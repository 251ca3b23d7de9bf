-- Annotations of an Ingress that are about a backend by its name, and those with JSON.
--@use tables

local named_annotations = {}

---Copies the annotations about a backend's name (`<prefix><field>.<name>`) to another name, except for the
---fields that are left out.
---@param annotations table<string, string>
---@param prefix string
---@param from string
---@param to string
---@param without? table<string, boolean> fields
function named_annotations.carry_named(annotations, prefix, from, to, without)
    for _, key in ipairs(named_annotations.about(annotations, prefix, from)) do
        local field = key:sub(#prefix + 1, #key - #from - 1)
        if to ~= from and not (without and without[field]) then
            annotations[prefix .. field .. "." .. to] = annotations[key]
        end
    end
end

---The keys of annotations about a backend, `<prefix><field>.<name>`, in order.
---@param annotations table<string, string>
---@param prefix string
---@param name string
---@return string[]
function named_annotations.about(annotations, prefix, name)
    local keys = {}
    for key in pairs(annotations) do
        local rest = key:sub(1, #prefix) == prefix and key:sub(#prefix + 1) or ""
        local field = rest:match("^([^.]+)%.")
        if field and rest:sub(#field + 2) == name then
            table.insert(keys, key)
        end
    end
    return keys
end

-- Renames keys that a Go program reads as one of the names: it compares them without regard to case.
local function with_names(value, names)
    if type(value) ~= "table" then
        return value
    end
    local result = tables.copy(value)
    for key, inner in pairs(value) do
        local name = type(key) == "string" and names[key:lower()] or key
        if name ~= key then
            result[key] = nil
        end
        if name == key or value[name] == nil then
            result[name] = with_names(inner, names)
        end
    end
    return result
end

---The value of an annotation that contains JSON; nil if there is none.
---@param annotations table<string, string>
---@param key string
---@param names? string[] names of fields that the annotation's reader compares without regard to case, as Go programs do
---@return any
function named_annotations.read_json(annotations, key, names)
    if annotations[key] == nil then
        return nil
    end
    local value, problem = json.decode(annotations[key])
    if value == nil then
        error("the annotation " .. key .. " cannot be read: " .. tostring(problem))
    end
    local by_lower = {}
    for _, name in ipairs(names or {}) do
        by_lower[name:lower()] = name
    end
    return names and with_names(value, by_lower) or value
end

return named_annotations
