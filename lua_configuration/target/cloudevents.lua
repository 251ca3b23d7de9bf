--@name CloudEvents
--@does target
--@asks http, https
--@secrets token?
--@params address
--@use exchange
--@docs https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/http-protocol-binding.md
-- An event in structured mode. Its id is the same whenever it is sent again.
if obj.answers then return (exchange.sent(obj.answers[1], "the receiver of CloudEvents")) end
local event = obj.event
return {ask = {{
    method = "POST", url = obj.params.address,
    headers = {["Content-Type"] = "application/cloudevents+json",
        Authorization = obj.secrets.token and "Bearer " .. obj.secrets.token},
    json = {
        specversion = "1.0", id = obj.id, type = "dev.moonshift.release." .. event.reason,
        source = "/apis/rollouts.kruise.io/namespaces/" .. event.namespace .. "/rollouts/" .. event.rollout,
        subject = event.release, time = exchange.time(event.time), datacontenttype = "application/json", data = event,
    },
}}}
