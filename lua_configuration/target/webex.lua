--@name Webex
--@does target
--@asks https
--@secrets token
--@params room
--@use exchange, events
--@docs https://developer.webex.com/messaging/docs/api/v1/messages/create-a-message
if obj.answers then return (exchange.sent(obj.answers[1], "Webex")) end
local event = obj.event
return {ask = {{
    url = "https://webexapis.com/v1/messages", headers = {Authorization = "Bearer " .. obj.secrets.token},
    json = {roomId = obj.params.room, text = exchange.short(events.title(event) .. "\n" .. events.text(event), 7000)},
}}}
