--@name Webhook of Flagger
--@does check
--@asks http, https
--@params address, hook?, phase?, metadata?
--@docs https://docs.flagger.app/usage/webhooks
-- Sends what Flagger sends, byte for byte, so receivers of its hooks and its loadtester need no change. `hook` is Flagger's type
-- of the hook; `metadata` is JSON with texts. As with Flagger, a status up to 202 is a yes.
local PHASES = {["end"] = "Succeeded", rollback = "Failed"}
local hook, release = obj.params.hook or "pre-rollout", obj.release
if not obj.answers then
    local metadata = obj.params.metadata and json.encode(json.decode(obj.params.metadata) or error("metadata is no JSON"))
    local phase = obj.params.phase or PHASES[release.phase] or "Progressing"
    local function member(name, text) return '"' .. name .. '":' .. json.encode(text) .. "," end
    return {ask = {{
        method = "POST", url = obj.params.address, headers = {["Content-Type"] = "application/json"},
        body = "{" .. member("name", release.rollout) .. member("namespace", release.namespace) .. member("phase", phase)
            .. '"checksum":' .. json.encode(release.revision) .. (metadata and ',"metadata":' .. metadata or "") .. "}",
    }}}
end
local answer = obj.answers[1]
local said = "the " .. hook .. " hook answered " .. answer.status
if #answer.body > 0 and #answer.body <= 200 and not answer.body:find("[%c<]") then said = said .. ": " .. answer.body end
local yes = answer.status <= 202
if hook == "rollback" then return yes and {fail = said} or {pass = said} end
return yes and {pass = said} or {hold = said, again = 10}
