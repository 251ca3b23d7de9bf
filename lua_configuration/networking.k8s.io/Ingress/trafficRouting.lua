--@name Ingress of the AWS load balancer controller, in place
--@can weight,header,header-regex,cookie,query,path,method
--@use steps, tables, backends, weights, conditions, routes, shadows, ingresses, named_annotations
--
-- Divides the stable Service's own share among the target groups of an action, or puts paths for the new revision alone, with
-- the step's matches as their conditions, before those that go to stable. The controller keeps the order of equal paths.
-- Serves references to an Ingress and the class alb; other classes have scripts of their own. The load balancer compares an
-- exact value of a header without regard to case.
--
-- obj.params.controller: "aws", where no annotation tells that the Ingress is for that controller.
-- obj.params.both: a step's matches and its traffic at once.

local PREFIX = "alb.ingress.kubernetes.io/"
local FIELDS = {"type", "forwardConfig", "targetGroups", "serviceName", "servicePort", "weight", "field", "values", "regexValues"}
local MADE_HERE = {actions = true, conditions = true}
local MAX_GROUPS, MAX_VALUES = 5, 5

local step = steps.of(obj, "Ingress")
local spec = step.spec
local services = backends.of(step, {
    name = "serviceName", port = "servicePort", without_weight = 1, most = 999,
    headers = "no Ingress of this controller can change headers for one revision",
})
obj.data.annotations = obj.data.annotations or {}
local annotations = obj.data.annotations
-- The same prefix is in use elsewhere; these two words are not.
local known = annotations[PREFIX .. "scheme"] or annotations[PREFIX .. "target-type"]
if not (known or step.params.controller == "aws" or obj.weight) then
    error("this Ingress is not known to be for the AWS load balancer controller (params.controller)")
end

-- What an annotation says about the action or the conditions of a name.
local function read(what, name)
    return named_annotations.read_json(annotations, PREFIX .. what .. "." .. name, FIELDS)
end

local function write(what, name, value)
    annotations[PREFIX .. what .. "." .. name] = json.encode(value)
end

local function uses_annotation(service) return (service.port or {}).name == "use-annotation" end

local function forward(groups) return {type = "forward", forwardConfig = {targetGroups = groups}} end

-- The name and the action of a backend; one that names a Service is an action with one group. nil where nothing is forwarded.
local ports, taken = {}, annotations[PREFIX .. "actions." .. step.stable] ~= nil
local function action_of(backend)
    local service = backend and backend.service
    if service ~= nil and uses_annotation(service) then
        local action = read("actions", service.name)
        return action and action.forwardConfig and action.forwardConfig.targetGroups and service.name, action
    elseif service == nil or service.name ~= step.stable then
        return nil
    end
    local port = service.port and (service.port.number or service.port.name)
    ports[step.stable] = ports[step.stable] or port
    -- An action has one port for a Service: a second one, or one beside the owner's own action, needs another name.
    local name = ports[step.stable] == port and not taken and step.stable or step.stable .. "-" .. tostring(port)
    return name, forward({{serviceName = step.stable, servicePort = port}})
end

-- Lets a backend lead to an action. Conditions go by the backend's name.
local function lead_to(name, backend)
    local own = read("conditions", backend.service.name)
    if own and name ~= backend.service.name then
        write("conditions", name, own)
    end
    named_annotations.carry_named(annotations, PREFIX, backend.service.name, name, MADE_HERE)
    backend.service = {name = name, port = {name = "use-annotation"}}
end

-- `written` has the actions that were looked at, and of which "new" ones take the place of Services.
local function divide(backend, written)
    local name, action = action_of(backend)
    if name == nil then
        return
    elseif written[name] then
        if written[name] == "new" and not uses_annotation(backend.service) then
            lead_to(name, backend)
        end
        return
    end
    local groups = action.forwardConfig.targetGroups
    local text, added = json.encode(groups), weights.divide(step, services, groups)
    if #groups > MAX_GROUPS then
        error("an action would have " .. #groups .. " target groups (at most " .. MAX_GROUPS .. ")")
    elseif added and not uses_annotation(backend.service) then
        written[name] = "new"
        lead_to(name, backend)
    end
    if json.encode(groups) ~= text then
        written[name] = written[name] or "there"
        write("actions", name, action)
    end
end

-- * and ? stand for letters in values; for headers an expression says the same, for parameters they are escaped.
local function native(condition)
    local what, value, regex = condition.what, condition.value, condition.regex
    if what == "method" then
        return {field = "http-request-method", httpRequestMethodConfig = {values = {value}}}
    elseif what == "query" and regex then
        error("no Ingress of this controller can match query parameters by regular expression")
    elseif what == "query" then
        local text = value:gsub("[*?\\]", "\\%0")
        return {field = "query-string", queryStringConfig = {values = {{key = condition.name, value = text}}}}
    elseif not regex and value:find("[*?\\]") then
        value, regex = "^" .. conditions.escape(value) .. "$", true
    end
    local config = {httpHeaderName = condition.name, [regex and "regexValues" or "values"] = {value}}
    return {field = "http-header", httpHeaderConfig = config}
end

-- How many values a rule of the load balancer has; a prefix is two, the one of everything one.
local function values_in(host, path, list)
    local count = (host and 1 or 0) + ((path.pathType == "Prefix" and path.path ~= "/") and 2 or 1)
    for _, condition in ipairs(list) do
        for _, config in pairs(condition) do
            if type(config) == "table" then
                count = count + #(config.values or config.regexValues or {})
            end
        end
    end
    return count
end

-- A path for one alternative with all of its conditions; nil where it does not serve the alternative's path.
local function narrowed(rule, path, alternative)
    local twin, other = ingresses.narrowed(step, "Ingress of this controller", path, alternative.path, rule.http.paths)
    local list, rival = read("conditions", path.backend.service.name) or {}, other and other.backend.service
    if rival and read("conditions", rival.name) then
        error("a more specific path has conditions, and would lose requests to a part of path " .. (path.path or "/"))
    elseif twin == nil then
        return nil
    end
    for _, condition in ipairs(alternative.conditions) do
        table.insert(list, native(conditions.cookie_as_header(condition)))
    end
    local count = values_in(rule.host, twin, list)
    if count > MAX_VALUES then
        error("a rule would have " .. count .. " values of conditions (at most " .. MAX_VALUES .. "): fewer in one match")
    end
    return twin, list
end

-- Whether an equal path of the owner stands before the copy and has no condition that the copy lacks.
local function is_taken(rule, path, twin, list)
    for number, other in ipairs(rule.http.paths) do
        local service = other.backend.service
        if rawequal(other, path) then
            return false
        end
        local all = other.path == twin.path and other.pathType == twin.pathType and service
        for _, condition in ipairs(all and read("conditions", service.name) or {}) do
            all = all and tables.contains(list, condition)
        end
        if all then
            shadows.remember(step, {leads_to = function() return service.name end}, number, other)
            return true
        end
    end
    return false
end

local function copies_of(rule, path, wanted)
    local name, action = action_of(path.backend)
    local all = name and action.forwardConfig.targetGroups or {}
    local groups, result = weights.canary_entries(services, all), {}
    for number, alternative in ipairs(weights.has_share(step, services, all) and wanted or {}) do
        local twin, list = narrowed(rule, path, alternative)
        twin = twin and not is_taken(rule, path, twin, list) and twin or nil
        step.done = step.done or twin ~= nil
        local own = name .. "-canary-" .. (number - 1)
        if twin and routes.first_time(step, {rule.host or "", twin.path or "", twin.pathType or "", own}) then
            twin.backend = {service = {name = own, port = {name = "use-annotation"}}}
            table.insert(result, twin)
            write("actions", own, forward(groups))
            named_annotations.carry_named(annotations, PREFIX, path.backend.service.name, own, MADE_HERE)
            if #list > 0 then
                write("conditions", own, list)
            end
        end
    end
    return result
end

steps.carry_out(step, {
    match = function()
        if step.modifier ~= nil then
            services.change_headers()
        end
        local wanted = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
        for _, rule in ipairs(spec.rules or {}) do
            local paths = {}
            for _, path in ipairs(rule.http and rule.http.paths or {}) do
                for _, twin in ipairs(copies_of(rule, path, wanted)) do
                    table.insert(paths, twin)
                end
                table.insert(paths, path)
            end
            if #paths > 0 then
                rule.http.paths = paths
            end
        end
        if not step.found and action_of(spec.defaultBackend) then
            error("the default backend of an Ingress has no conditions: give it a path")
        end
    end,
    divide = function()
        local written = {}
        for _, rule in ipairs(spec.rules or {}) do
            for _, path in ipairs(rule.http and rule.http.paths or {}) do
                divide(path.backend, written)
            end
        end
        divide(spec.defaultBackend, written)
    end,
})
return obj.data
