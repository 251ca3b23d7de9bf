--@name Mattermost
--@does target
--@asks http, https
--@secrets hook
--@params address, channel?
--@use exchange, events
--@docs https://developers.mattermost.com/integrate/webhooks/incoming/
-- The hook is the last part of the webhook's URL, after /hooks/.
if obj.answers then return (exchange.sent(obj.answers[1], "Mattermost")) end
local event, fields = obj.event, json.array()
for number, fact in ipairs(events.facts(event)) do
    fields[number] = {title = fact.name, value = fact.value, short = true}
end
return {ask = {{url = obj.params.address .. "/hooks/" .. obj.secrets.hook, json = {
    channel = obj.params.channel, username = "Moonshift",
    attachments = {{color = "#" .. events.colour(event), fallback = events.title(event), title = events.title(event),
        title_link = event.link, text = event.message, fields = fields}},
}}}}
