--@name Istio VirtualService
--@after networking.istio.io/DestinationRule
--@siblings networking.istio.io/DestinationRule
--@can weight,subpercent,header,header-regex,cookie,query,path,method,header-modifier
--@regex re2 1024
--@use steps, tables, backends, weights, conditions, paths, shadows, istio
--
-- Splits every route that points at the stable Service, or puts copies of those rules, bound to the step's matches and to
-- the new revision alone, right before them. What does not point at the stable Service is not touched.
--
-- Of several subsets of the Service, only those are the release's whose labels the stable pods have.
--
-- obj.params.stableSubset: the subset, or the list of subsets, with the pods of the release.
-- obj.params.scale: multiply the weights of split rules by this much (default: 100 where a share would not be a whole
-- number of its own, else 1).

local CANARY_SUBSET = "canary"

local step = steps.of(obj, "VirtualService", true)
local spec, stable = step.spec, step.stable
local shared = stable == step.canary  -- one Service; a subset tells the revisions apart

local function suffix_of(host)
    return istio.suffix_of(host, stable, step.namespace)
end

-- Adds the step's header changes to `holder.headers.request`; what is there already stays.
local function change_headers(holder, modifier)
    holder.headers = holder.headers or {}
    holder.headers.request = holder.headers.request or {}
    local request = holder.headers.request
    for _, verb in ipairs({"set", "add"}) do
        for _, header in ipairs(modifier[verb] or {}) do
            request[verb] = request[verb] or {}
            request[verb][header.name] = header.value
        end
    end
    for _, name in ipairs(modifier.remove or {}) do
        request.remove = request.remove or {}
        table.insert(request.remove, name)
    end
end

local of_release = istio.subsets_of_release(step, shared and CANARY_SUBSET or nil)

local services = backends.of(step, {
    is_stable = function(entry)
        local destination = entry.destination
        return destination and suffix_of(destination.host) ~= nil
            and not (shared and destination.subset == CANARY_SUBSET)
            and (destination.subset == nil or of_release[destination.subset])
    end,
    canary = function(entry)
        local result = tables.copy(entry)
        local destination = result.destination
        if shared then
            destination.subset = CANARY_SUBSET
        else
            -- A subset belongs to the DestinationRule of its host; the canary Service has none of that name.
            destination.host, destination.subset = step.canary .. suffix_of(destination.host), nil
        end
        result.weight = nil
        return result
    end,
    address = function(entry)
        local destination = entry.destination or {}
        local port = (destination.port or {}).number
        return table.concat({tostring(destination.host), tostring(destination.subset), tostring(port)}, " ")
    end,
    headers = change_headers, without_weight = 0, exact = true,
})

---------------------------------------------------------------------------------------------------- weights

-- What an absent weight means: a destination alone has all; beside others that have one, it is 0. Several without any are
-- an error for Istio's webhook, and Envoy refuses the whole route configuration of the port because of them.
local function write_weights(route)
    if backends.even_or_nothing(route) == 0 then
        return
    end
    if #route > 1 then
        error("a rule has " .. #route .. " destinations and no weight, which Istio refuses: give them weights")
    end
    route[1].weight = 100
end

-- Divides what the stable Service has in this rule; says whether it had anything.
local function divide(rule)
    write_weights(rule.route)
    for _, entry in ipairs(rule.route) do
        if services.is_stable(entry) and (entry.weight or 0) > 0 then
            weights.divide(step, services, rule.route)
            return true
        end
    end
    return false
end

local function any_stable(rules)
    for _, rule in ipairs(rules or {}) do
        if weights.has_stable(services, rule.route) then
            return true
        end
    end
    return false
end

local function divide_all()
    local http, streams = any_stable(spec.http), any_stable(spec.tls) or any_stable(spec.tcp)
    local divided = false
    for _, protocol in ipairs({"http", "tls", "tcp"}) do
        if protocol ~= "http" and step.modifier ~= nil and streams then
            if not http then
                error("tls and tcp routes cannot change headers")
            end
            step.modifier = nil
        end
        for _, rule in ipairs(spec[protocol] or {}) do
            if weights.has_stable(services, rule.route) then
                divided = divide(rule) or divided
            end
        end
    end
    if (http or streams) and not divided then
        error("every route of this VirtualService that points at Service " .. stable .. " has weight 0")
    end
    return http or streams
end

---------------------------------------------------------------------------------------------------- matches

-- Several destinations without weights share evenly.
local serving = {is_stable = services.is_stable, without_weight = backends.even_or_nothing}

-- A copy of the rule that only the new revision serves; timeouts, retries, rewrites and the like stay.
local function canary_rule(rule, uri, name)
    local result = tables.copy(rule)
    result.match = {}
    result.name = rule.name and rule.name .. name
    result.route = weights.canary_entries(services, rule.route)
    if uri then
        result.rewrite.uri = uri
    end
    if step.modifier ~= nil then
        change_headers(result, step.modifier)
    end
    return result
end

-- Copies of a rule for the entries of one alternative: one copy, or more if a rewritten prefix differs between the entries.
local function canary_rules(rule, entries, name)
    local result, by_uri = {}, {}
    local rewritten = rule.rewrite and rule.rewrite.uri
    for _, entry in ipairs(entries) do
        local uri = rewritten and paths.replacement(rewritten, entry.own, entry.part)
        local key = uri or ""
        if by_uri[key] == nil then
            by_uri[key] = canary_rule(rule, uri, name .. (#result > 0 and "-part-" .. #result or ""))
            table.insert(result, by_uri[key])
        end
        table.insert(by_uri[key].match, entry.match)
    end
    return result
end

local SHADOWS = istio.shadows()

-- The entries of a copy that requests can reach behind the owner's earlier rules.
local function reached(earlier, entries)
    local result = {}
    for _, entry in ipairs(entries) do
        if shadows.reached(step, SHADOWS, earlier, entry.match) then
            table.insert(result, entry)
        end
    end
    return result
end

-- Puts the copies before their source. Of several matches the last comes first: so the format's published test case has it.
local function insert_matches()
    local wanted, rules, earlier, copied, inserted = {}, {}, {}, {}, false
    local asked = conditions.wanted(step, "header,header-regex,cookie,query,path,method")
    for position, alternative in ipairs(paths.by_letters(asked)) do
        wanted[position] = istio.match_of(alternative)
    end
    for _, rule in ipairs(spec.http or {}) do
        for position = weights.has_share(step, serving, rule.route) and #wanted or 0, 1, -1 do
            local entries = reached(earlier, istio.combined(step, rule.match, wanted[position]))
            for _, twin in ipairs(canary_rules(rule, entries, "-canary" .. (#wanted > 1 and "-" .. position or ""))) do
                -- An equal copy further up has taken those requests already.
                if not tables.contains(copied, twin.match) then
                    table.insert(copied, twin.match)
                    table.insert(rules, twin)
                end
            end
            inserted = inserted or #entries > 0
        end
        table.insert(rules, rule)
        table.insert(earlier, rule)
    end
    if not any_stable(spec.http) then
        if any_stable(spec.tls) or any_stable(spec.tcp) then
            error("tls and tcp routes cannot match headers, paths or query parameters; use traffic instead")
        end
        error("no route of this VirtualService points at Service " .. stable)
    end
    if not inserted then
        shadows.check(step)
    end
    if not inserted and step.unserved then
        error("no rule of this VirtualService that points at Service " .. stable .. " serves the path " .. step.unserved
            .. " of this step")
    elseif not inserted and step.without_share then
        error("every route of this VirtualService that points at Service " .. stable .. " has weight 0")
    elseif not inserted then
        error("the matches of this step contradict the conditions of every rule that points at Service " .. stable)
    end
    spec.http = rules
end

local matching = #step.matches > 0
if matching then
    insert_matches()
end
-- Matches win over a weight; params.both asks for the two at once.
if obj.canaryWeight >= 0 and (not matching or step.params.both) and not divide_all() then
    error("no route of this VirtualService points at Service " .. stable)
end
return obj.data
