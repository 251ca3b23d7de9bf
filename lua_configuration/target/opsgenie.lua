--@name Opsgenie
--@does target
--@asks https
--@secrets apiKey
--@params priority?, site?
--@use exchange, events
--@docs https://docs.opsgenie.com/docs/alert-api
-- The end of a release closes the alert that its trouble opened.
if obj.answers then return (exchange.sent(obj.answers[1], "Opsgenie")) end
local event = obj.event
local alerts = "https://" .. (obj.params.site or "api.opsgenie.com") .. "/v2/alerts"
local headers = {Authorization = "GenieKey " .. obj.secrets.apiKey}
if events.over(event) then
    local alias = events.key(event):gsub("/", "%%2F")
    return {ask = {{url = alerts .. "/" .. alias .. "/close", query = {identifierType = "alias"}, headers = headers,
        json = {source = "Moonshift", note = event.message}}}}
end
local details = {}
for _, fact in ipairs(events.facts(event)) do details[fact.name] = fact.value end
return {ask = {{url = alerts, headers = headers, json = {
    message = exchange.short(events.title(event), 130), alias = events.key(event), source = "Moonshift",
    description = event.message, details = json.object(details), tags = {event.namespace, event.reason},
    priority = obj.params.priority or (events.level(event) == "bad" and "P2" or "P5"),
}}}}
