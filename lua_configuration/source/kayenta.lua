--@name Kayenta
--@does source
--@asks http, https
--@params address, config, application, metrics, storage, location?, step?, pass?, marginal?
--@use exchange
--@docs https://github.com/spinnaker/kayenta/tree/master/docs
-- The value is the judge's score, 0 to 100, of the new revision beside the stable one in the window.
if obj.turn == 1 then
    local function scope(revision)
        return {scope = revision, location = obj.params.location or obj.release.namespace, step = obj.params.step or 60,
            start = exchange.time(obj.window.from), ["end"] = exchange.time(obj.window.to)}
    end
    return {ask = {{
        method = "POST", url = obj.params.address .. "/canary/" .. obj.params.config,
        query = {application = obj.params.application, metricsAccountName = obj.params.metrics,
            configurationAccountName = obj.params.storage, storageAccountName = obj.params.storage},
        json = {
            scopes = {default = {experimentScope = scope(obj.release.revision),
                controlScope = scope(obj.release.stableRevision)}},
            thresholds = {pass = obj.params.pass or 95, marginal = obj.params.marginal or 75},
        },
    }}}
end
local found = exchange.read(obj.answers[1], "Kayenta")
local id = obj.state and obj.state.id or found.canaryExecutionId
if not found.complete then
    return exchange.later({url = obj.params.address .. "/canary/" .. id}, 4, {id = id})
elseif found.status ~= "succeeded" then
    exchange.fail("Kayenta", found.exception or "the analysis ended with the status " .. tostring(found.status))
end
local judged = found.result and found.result.judgeResult
return {value = judged and judged.score and exchange.number(judged.score.score)}
