--@name PagerDuty
--@does target
--@asks https
--@secrets routingKey
--@params severity?, site?
--@use exchange, events
--@docs https://developer.pagerduty.com/docs/send-alert-event
-- Trouble opens an incident for the release, its end resolves it; anything else is a change event, which wakes nobody.
if obj.answers then return (exchange.sent(obj.answers[1], "PagerDuty")) end
local event = obj.event
local alert = events.over(event) or events.level(event) == "bad"
local links = event.link and {{href = event.link, text = "the release"}} or nil
local payload = {source = event.namespace .. "/" .. event.rollout, timestamp = exchange.time(event.time),
    summary = exchange.short(events.title(event) .. ": " .. event.message, 1000)}
local body = {routing_key = obj.secrets.routingKey, payload = payload, links = links}
if alert then
    payload.severity = obj.params.severity or "error"
    body.event_action, body.dedup_key = events.over(event) and "resolve" or "trigger", events.key(event)
end
return {ask = {{
    url = "https://" .. (obj.params.site or "events.pagerduty.com") .. (alert and "/v2/enqueue" or "/v2/change/enqueue"),
    json = body,
}}}
