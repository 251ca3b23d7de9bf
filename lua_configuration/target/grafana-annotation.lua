--@name Grafana annotation
--@does target
--@asks http, https
--@secrets token
--@params address, dashboard?
--@use exchange, events
--@docs https://grafana.com/docs/grafana/latest/developers/http_api/annotations/#create-annotation
if obj.answers then return (exchange.sent(obj.answers[1], "Grafana")) end
local event = obj.event
return {ask = {{
    url = obj.params.address .. "/api/annotations", headers = {Authorization = "Bearer " .. obj.secrets.token},
    json = {
        dashboardUID = obj.params.dashboard, time = event.time * 1000,
        tags = {"moonshift", "namespace:" .. event.namespace, "rollout:" .. event.rollout, "reason:" .. event.reason},
        text = events.plain(events.title(event) .. "\n" .. events.text(event)),
    },
}}}
