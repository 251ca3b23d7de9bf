--@name Slack
--@does target
--@asks https
--@secrets path
--@params host?
--@use exchange, events
--@docs https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks/
-- The path is everything of the webhook's URL behind /services/: T…/B…/….
if obj.answers then return (exchange.sent(obj.answers[1], "Slack")) end
local event, fields = obj.event, json.array()
for number, fact in ipairs(events.facts(event)) do
    fields[number] = {title = fact.name, value = events.plain(fact.value), short = true}
end
local hooks = "https://" .. (obj.params.host or "hooks.slack.com") .. "/services/"
return {ask = {{url = hooks .. obj.secrets.path, json = {attachments = {{
    color = "#" .. events.colour(event), fallback = events.plain(events.title(event)), mrkdwn_in = {"text"},
    title = events.plain(events.title(event)), title_link = event.link,
    text = events.plain(event.message), fields = fields, ts = event.time,
}}}}}}
