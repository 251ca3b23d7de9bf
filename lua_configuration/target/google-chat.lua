--@name Google Chat
--@does target
--@asks https
--@secrets key, token
--@params space
--@use exchange, events
--@docs https://developers.google.com/workspace/chat/quickstart/webhooks
-- All events of a release are one thread. Key and token are parameters of the webhook's URL.
if obj.answers then return (exchange.sent(obj.answers[1], "Google Chat")) end
local event = obj.event
return {ask = {{
    url = "https://chat.googleapis.com/v1/spaces/" .. obj.params.space .. "/messages",
    query = {key = obj.secrets.key, token = obj.secrets.token,
        messageReplyOption = "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"},
    json = {text = "*" .. events.plain(events.title(event)) .. "*\n" .. events.plain(events.text(event)),
        thread = {threadKey = events.key(event)}},
}}}
