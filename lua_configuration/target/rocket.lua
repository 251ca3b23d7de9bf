--@name Rocket.Chat
--@does target
--@asks http, https
--@secrets token
--@params address, hook, channel?
--@use exchange, events
--@docs https://docs.rocket.chat/docs/integrations
-- A webhook's URL ends with /hooks/<hook>/<token>.
if obj.answers then return (exchange.sent(obj.answers[1], "Rocket.Chat")) end
local event = obj.event
return {ask = {{url = obj.params.address .. "/hooks/" .. obj.params.hook .. "/" .. obj.secrets.token, json = {
    channel = obj.params.channel, alias = "Moonshift",
    attachments = {{color = "#" .. events.colour(event), title = events.title(event), title_link = event.link,
        text = events.text(event)}},
}}}}
