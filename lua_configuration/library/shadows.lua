-- Copies that no request can reach, for gateways in which the first rule that fits wins: a rule before them takes all of
-- their requests. The gateway accepts such a copy, and the new version would be judged without any request.
--
-- A copy is reported only if no request can reach it for certain: a copy that several rules shadow together is kept.
--@use tables, paths

local shadows = {}

local EVERYTHING = {type = "Text", value = "/"}

-- Whether every request for the inner path fits the outer one, with regard to the case of letters.
local function has_path(outer, inner)
    if outer.any_case and outer.type ~= "RegularExpression" and inner.type ~= "RegularExpression" then
        return paths.inside(
            {type = inner.type, value = inner.value:lower()}, {type = outer.type, value = outer.value:lower()})
    end
    return tables.same(outer, inner) or paths.inside(EVERYTHING, outer) or (not inner.any_case and paths.inside(inner, outer))
end

-- Conditions that hold together, as a list or by name. A condition by name without content asks only for the name.
local function has_all(outer, inner)
    for key, condition in next, outer do
        local other = inner[key]
        local bare = type(key) == "string" and type(condition) == "table" and next(condition) == nil and other ~= nil
        local there = type(key) == "number" and tables.contains(inner, condition) or tables.same(condition, other)
        if not bare and not there then
            return false
        end
    end
    return true
end

-- Values of which one holds; an empty list is no condition.
local function has_any(outer, inner)
    for _, value in ipairs(inner) do
        if #outer > 0 and not tables.contains(outer, value) then
            return false
        end
    end
    return #outer == 0 or #inner > 0
end

local HOLDS = {
    all = has_all, any = has_any,
    nothing = function() return true end,
    never = function() return false end,
}

---Whether it is certain that every request of a copy's match fits an earlier match.
---@param kind moonshift.Shadows
---@param outer table
---@param inner table
---@return boolean
function shadows.covers(kind, outer, inner)
    if kind.form then
        outer, inner = kind.form(outer), kind.form(inner)
    end
    for key, value in next, outer do
        local holds = HOLDS[kind.fields[key]] or tables.same
        if not holds(value, inner[key] or {}) then
            return false
        end
    end
    return has_path(kind.path_of(outer), kind.path_of(inner))
end

---The entry to which a rule leads: the first one that gets requests.
---@param entries table[]?
---@return table
function shadows.main_of(entries)
    for _, entry in ipairs(entries or {}) do
        if entry.weight ~= 0 then
            return entry
        end
    end
    return {}
end

---Lets the step remember that a rule of the owner has all requests of a copy. The first such rule is reported.
---@param step moonshift.Step
---@param kind moonshift.Shadows
---@param number integer place of the rule
---@param rule table
function shadows.remember(step, kind, number, rule)
    local name, target = rule.name and " (" .. rule.name .. ")" or "", kind.leads_to(rule) or ""
    local leads = target ~= "" and "to " .. target or "elsewhere"
    step.taken = step.taken or "rule " .. number .. name .. ", which leads " .. leads
end

---Whether requests may reach a copy with this match behind the rules before it. If not, the step remembers the rule that
---takes them: if no copy is left, that is an error when the step is carried out.
---@param step moonshift.Step
---@param kind moonshift.Shadows
---@param earlier table[] the owner's rules that come before the copy
---@param match table
---@return boolean
function shadows.reached(step, kind, earlier, match)
    for number, rule in ipairs(earlier) do
        for _, outer in ipairs(kind.matches_of(rule)) do
            if shadows.covers(kind, outer, match) then
                shadows.remember(step, kind, number, rule)
                return false
            end
        end
    end
    return true
end

---The error for a step of which no copy is left, if a rule takes the requests.
---@param step moonshift.Step
function shadows.check(step)
    if step.taken then
        error("no request of this step would reach the new version: " .. step.taken .. ", wins over the rules that point "
            .. "at Service " .. step.stable .. ", and takes all of them; change the matches of the step, or the rules")
    end
end

return shadows
