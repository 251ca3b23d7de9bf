--@name Alertmanager
--@does target
--@asks http, https
--@secrets token?, user?, password?
--@params address, hours?
--@use exchange, events
--@docs https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
-- One alert for each release: an event that ends the trouble ends the alert; without one it ends after some hours.
if obj.answers then return (exchange.sent(obj.answers[1], "Alertmanager")) end
local event = obj.event
local ends = events.over(event) and event.time or event.time + 3600 * (obj.params.hours or 24)
return {ask = {{
    url = obj.params.address .. "/api/v2/alerts",
    headers = obj.secrets.token and {Authorization = "Bearer " .. obj.secrets.token} or nil,
    basic = obj.secrets.user and {obj.secrets.user, obj.secrets.password} or nil,
    json = {{
        labels = {alertname = "MoonshiftRelease", namespace = event.namespace, rollout = event.rollout, release = event.release},
        annotations = {summary = events.title(event), description = event.message, reason = event.reason},
        startsAt = not events.over(event) and exchange.time(event.time) or nil, endsAt = exchange.time(ends),
        generatorURL = event.link,
    }},
}}}
