--@name Discord
--@does target
--@asks https
--@secrets token
--@params webhook
--@use exchange, events
--@docs https://docs.discord.com/developers/resources/webhook#execute-webhook
-- A webhook's URL ends with /<webhook>/<token>.
if obj.answers then return (exchange.sent(obj.answers[1], "Discord")) end
local event, fields = obj.event, json.array()
for number, fact in ipairs(events.facts(event)) do fields[number] = {name = fact.name, value = fact.value, inline = true} end
return {ask = {{url = "https://discord.com/api/webhooks/" .. obj.params.webhook .. "/" .. obj.secrets.token, json = {
    username = "Moonshift", allowed_mentions = {parse = json.array()},
    embeds = {{title = exchange.short(events.title(event), 256), description = exchange.short(event.message, 4000),
        url = event.link, color = tonumber(events.colour(event), 16), fields = fields}},
}}}}
