--@name Webhook
--@does target
--@asks http, https
--@sign hmac X-Signature-256
--@secrets token?, user?, password?, hmacKey?
--@params address
--@use exchange
--@docs https://www.rfc-editor.org/rfc/rfc9110.html#name-post
-- The event as JSON. Idempotency-Key is the same whenever it is sent again.
if obj.answers then return (exchange.sent(obj.answers[1], "the webhook")) end
return {ask = {{
    method = "POST", url = obj.params.address, json = obj.event,
    headers = {["Idempotency-Key"] = obj.id, Authorization = obj.secrets.token and "Bearer " .. obj.secrets.token},
    basic = obj.secrets.user and {obj.secrets.user, obj.secrets.password} or nil,
    sign = obj.secrets.hmacKey and "hmac" or nil,
}}}
