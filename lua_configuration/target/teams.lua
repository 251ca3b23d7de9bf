--@name Microsoft Teams
--@does target
--@asks https
--@secrets signature
--@params address
--@use exchange, events
--@docs https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook
-- A workflow's URL without its parameter sig, which is the secret.
if obj.answers then return (exchange.sent(obj.answers[1], "Microsoft Teams")) end
local event, facts = obj.event, json.array()
for number, fact in ipairs(events.facts(event)) do facts[number] = {title = fact.name, value = fact.value} end
local style = ({good = "good", bad = "attention", asks = "warning"})[events.level(event)] or "accent"
return {ask = {{url = obj.params.address, query = {sig = obj.secrets.signature}, json = {type = "message", attachments = {{
    contentType = "application/vnd.microsoft.card.adaptive",
    content = {
        type = "AdaptiveCard", version = "1.4", ["$schema"] = "http://adaptivecards.io/schemas/adaptive-card.json",
        body = {
            {type = "TextBlock", text = events.title(event), weight = "Bolder", color = style, wrap = true},
            {type = "TextBlock", text = event.message, wrap = true},
            {type = "FactSet", facts = facts},
        },
        actions = json.array(event.link and {{type = "Action.OpenUrl", title = "Look", url = event.link}}),
    },
}}}}}}
