-- A step, and the way in which a script carries it out: by its matches, or by its share of the traffic.
--@use shadows

local steps = {}

local NOTHING = "nothing has a weight above 0 in the rules that point at"

---A step, in the form that the other modules need. An error if both versions share one Service, unless the kind can
---distinguish them.
---@param obj moonshift.Obj
---@param kind? string the name of the object in messages; its kind if it is left out
---@param one_service? boolean the kind can distinguish the versions of one Service
---@return moonshift.Step
function steps.of(obj, kind, one_service)
    local object = obj.object or {}
    local step = {
        obj = obj, kind = kind or object.kind or "object", spec = obj.data.spec or {},
        stable = obj.stableService, canary = obj.canaryService, namespace = object.namespace,
        params = obj.params or {}, modifier = obj.requestHeaderModifier,
        weight = obj.canaryWeight, matches = obj.matches or {}, found = false, done = false, seen = {},
    }
    if step.stable == step.canary and not one_service then
        error("no " .. step.kind .. " can tell revisions of one Service apart: the new one needs a Service of its own")
    end
    return step
end

---Whether a reference's namespace is the object's own; a reference without a namespace means the object's namespace.
---@param step moonshift.Step
---@param namespace string?
---@return boolean
function steps.here(step, namespace)
    return namespace == nil or namespace == "" or step.namespace == nil or namespace == step.namespace
end

---An error if the step's share is not a whole percentage.
---@param step moonshift.Step
function steps.only_whole_percents(step)
    if step.weight ~= math.floor(step.weight) then
        error("no " .. step.kind .. " can express " .. string.format("%.14g", step.weight) .. " %: its weight is a whole number")
    end
end

---Carries the step out: `match` for its matches, `divide` for its share. Matches have precedence over a share; with
---`params.both` both are carried out. The two functions set `step.found` if a rule leads to the stable Service, and
---`step.done` if the step could be carried out on such a rule. If one of them is not set, that is an error.
---@param step moonshift.Step
---@param ways {match?: fun(), divide: fun()} without `match` a step with matches is an error
function steps.carry_out(step, ways)
    local function finish(problem)
        if not step.found then
            error("no rule of this " .. step.kind .. " points at Service " .. step.stable)
        elseif not step.done then
            error(problem .. " Service " .. step.stable)
        end
    end
    local matching = #step.matches > 0
    if matching then
        if ways.match == nil then
            error("no " .. step.kind
                .. " can match headers, query parameters, cookies, methods or paths: use traffic instead")
        end
        ways.match()
        if step.found and not step.done then
            shadows.check(step)
        end
        if step.found and not step.done and step.unserved then
            error("no rule of this " .. step.kind .. " that points at Service " .. step.stable .. " serves the path "
                .. step.unserved .. " of this step")
        end
        local contradicts = "the matches of this step contradict the conditions of every rule that points at"
        finish(step.without_share and NOTHING or contradicts)
    end
    if step.weight >= 0 and (not matching or step.params.both) then
        step.found, step.done = false, false
        ways.divide()
        finish(NOTHING)
    end
end

return steps
