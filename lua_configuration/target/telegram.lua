--@name Telegram
--@does target
--@asks https
--@secrets token
--@params bot, chat
--@use exchange, events
--@docs https://core.telegram.org/bots/api#sendmessage
-- BotFather's token is <bot>:<token>.
if not obj.answers then
    local event = obj.event
    local bot = "https://api.telegram.org/bot" .. obj.params.bot .. ":" .. obj.secrets.token
    return {ask = {{url = bot .. "/sendMessage", json = {
        chat_id = obj.params.chat, parse_mode = "HTML", link_preview_options = {is_disabled = true},
        text = "<b>" .. events.plain(events.title(event)) .. "</b>\n" .. events.plain(exchange.short(events.text(event), 3000)),
    }}}}
end
local answer = obj.answers[1]
-- Telegram has the time to wait in its body.
local body = json.decode(answer.body or "")
local wait = body and body.parameters and body.parameters.retry_after
if wait then return {again = wait, why = "Telegram answered " .. answer.status} end
return (exchange.sent(answer, "Telegram"))
