-- Paths of rules and of steps: what two of them have in common, and what becomes of a rule's rewrite for a part of its path.
--
-- A path has `type` and `value`. A PathPrefix is one of whole elements: /a has /a and /a/b, not /ab. A Text is a prefix of
-- letters, for gateways that compare so. An expression fits the whole path. Wildcards are an exact path with :names, {names}
-- or * in it. A path with `any_case` is compared without regard to case.
--@use tables

local paths = {}

local function begins(text, start)
    return text:sub(1, #start) == start
end

-- Whether an expression may be one of several outside of all parentheses; with classes of letters nothing is said.
local function has_alternatives(pattern)
    local depth, at = 0, 1
    if pattern:find("|", 1, true) and pattern:find("[", 1, true) then
        return true
    end
    while at <= #pattern do
        local letter = pattern:sub(at, at)
        if letter == "|" and depth == 0 then
            return true
        elseif letter == "\\" then
            at = at + 1
        end
        depth = depth + (letter == "(" and 1 or letter == ")" and -1 or 0)
        at = at + 1
    end
    return false
end

-- The letters with which everything begins that fits an expression, and the rest of the expression.
local function beginning(pattern)
    local text, at = "", pattern:sub(1, 1) == "^" and 2 or 1
    pattern = pattern:gsub("([^\\])%$$", "%1")
    if has_alternatives(pattern) then
        return "", pattern
    end
    while at <= #pattern do
        local size = pattern:sub(at, at) == "\\" and 2 or 1
        local letter = pattern:sub(at + size - 1, at + size - 1)
        local plain = size == 2 and not letter:find("%w") or size == 1 and not letter:find("[%^%$%(%)%.%[%]%*%+%?{}|\\]")
        if not plain or pattern:find("^[*?{]", at + size) then
            break
        end
        text, at = text .. letter, at + size
    end
    return text, pattern:sub(at)
end

local WHOLE = {[""] = "Exact", [".*"] = "Text", ["(/.*)?"] = "PathPrefix", ["(?:/.*)?"] = "PathPrefix"}

-- A path in the form in which paths are compared: an expression that says what another type says is of that type.
local function plain(path)
    local kind, start = path.type, path.value
    if kind == "RegularExpression" then
        local text, rest = beginning(start)
        kind, start = WHOLE[rest] or kind, text
    end
    if kind == "PathPrefix" then
        start = start:gsub("/+$", "")
    elseif kind == "Wildcards" then
        start = start:match("^[^:*{]*")
    end
    if (kind == "PathPrefix" and start == "") or (kind == "Text" and start == "/") then
        kind, start = "Text", ""
    end
    return {type = kind, start = start, value = path.value}
end

local function within(inner, outer)
    local text, start = inner.start, outer.start
    if outer.type == "Text" then
        return begins(text, start)
    elseif outer.type == "PathPrefix" then
        return begins(text, start .. "/") or (text == start and (inner.type == "Exact" or inner.type == "PathPrefix"))
    end
    return inner.type == outer.type and (outer.type == "Exact" and text == start or inner.value == outer.value)
end

-- Whether no request can fit both.
local function apart(one, other)
    if other.type == "PathPrefix" then
        one, other = other, one
    end
    if one.type == "PathPrefix" then
        return apart({type = "Text", start = one.start .. "/"}, other) and apart({type = "Exact", start = one.start}, other)
    end
    local above = one.type ~= "Exact" and begins(other.start, one.start)
    local below = other.type ~= "Exact" and begins(one.start, other.start)
    return one.start ~= other.start and not above and not below
end

---The path that a rule has under one of several keys; without one of them it is everything.
---@param holder table
---@param keys table<string, string> the key of each type
---@param everything "Text"|"PathPrefix" the type of everything
---@param any_case? boolean the rule compares without regard to case
---@return {type: string, value: string, any_case?: boolean}
function paths.of(holder, keys, everything, any_case)
    for kind, key in pairs(keys) do
        if holder[key] then
            return {type = kind, value = holder[key], any_case = any_case or nil}
        end
    end
    return {type = everything, value = "/"}
end

---Lets the prefixes of a step's alternatives be texts, for gateways that compare letters.
---@param wanted moonshift.Alternative[]
---@return moonshift.Alternative[]
function paths.by_letters(wanted)
    for _, alternative in ipairs(wanted) do
        local path = alternative.path
        if path and path.type == "PathPrefix" then
            path.type = "Text"
        end
    end
    return wanted
end

---Whether it is certain that no request fits both paths.
---@param own {type: string, value: string}
---@param wanted {type: string, value: string}
---@return boolean
function paths.apart(own, wanted)
    local one, other = plain(own), plain(wanted)
    return not within(one, other) and not within(other, one) and apart(one, other)
end

---Whether it is certain that every request of the one path fits the other.
---@param inner {type: string, value: string}
---@param outer {type: string, value: string}
---@return boolean
function paths.inside(inner, outer)
    return tables.same(inner, outer) or within(plain(inner), plain(outer))
end

---The path of the requests that fit both paths: one of the two; nil if there can be none. An error if an expression
---does not let it be said.
---@param own {type: string, value: string} a rule's path
---@param wanted? {type: string, value: string} a step's path
---@return {type: string, value: string}?
function paths.common(own, wanted)
    if wanted == nil or tables.same(own, wanted) then
        return own
    end
    local one, other = plain(own), plain(wanted)
    if within(one, other) then
        return own
    elseif within(other, one) then
        return wanted
    elseif apart(one, other) then
        return nil
    end
    error("which requests fit both the path " .. own.value .. " of a rule and the path " .. wanted.value
        .. " of this step cannot be told, because one of them is a pattern: give the step the path of the rule, "
        .. "or one below it")
end

---The same for a rule of the stable Service. The step remembers a path that is not the rule's: if no rule has it, that is
---an error when the step is carried out.
---@param step moonshift.Step
---@param own {type: string, value: string}
---@param wanted? {type: string, value: string}
---@return {type: string, value: string}?
function paths.served(step, own, wanted)
    if wanted == nil then
        return own
    end
    local known, asked = own, wanted
    if own.any_case and wanted.type == "RegularExpression" and own.value ~= "/" then
        error("a rule compares its path " .. own.value .. " without regard to case: no expression can be part of it")
    elseif own.any_case then
        known = {type = own.type, value = own.value:lower()}
        asked = {type = wanted.type, value = wanted.value:lower()}
    end
    local result = paths.common(known, asked)
    if result == nil then
        step.unserved = wanted.value
    elseif own.any_case and not tables.same(result, asked) then
        -- The path of a step is never compared so.
        error("a rule compares its path " .. own.value .. " without regard to case: give the step that path, or one below it")
    end
    return own.any_case and result and wanted or result
end

---The text that takes the place of a rule's prefix for a part of its path, so that requests reach the Service under the same path
---as before: longer by what the part has more.
---@param replacement string
---@param own {type: string, value: string} the rule's path
---@param part {type: string, value: string}
---@return string
function paths.replacement(replacement, own, part)
    if tables.same(own, part) then
        return replacement
    elseif part.type == "RegularExpression" or own.type == "RegularExpression" then
        error("a rule that replaces its prefix cannot match a path by type RegularExpression")
    elseif own.type == "Exact" then
        return replacement
    elseif own.type == "Text" then
        return replacement .. part.value:sub(#own.value + 1)
    end
    local rest = part.value:sub(#own.value:gsub("/+$", "") + 1)
    if part.type == "PathPrefix" then
        rest = rest:gsub("/+$", "")
    end
    local result = replacement:gsub("/+$", "") .. rest
    return result == "" and "/" or result
end

return paths
