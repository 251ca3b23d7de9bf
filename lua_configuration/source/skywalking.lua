--@name Apache SkyWalking
--@does source
--@asks http, https
--@secrets user?, password?
--@params query, address, service?, zone?
--@use exchange
--@docs https://skywalking.apache.org/docs/main/latest/en/api/metrics-query-expression/
-- The query is an expression (MQE). SkyWalking reads times in its own zone: `zone` is its hours from UTC.
local function minute(seconds)
    local text = exchange.time(seconds + 3600 * (obj.params.zone or 0))
    return text:sub(1, 10) .. " " .. text:sub(12, 13) .. text:sub(15, 16)
end
if not obj.answers then
    return {ask = {{
        method = "POST", url = obj.params.address .. "/graphql",
        basic = obj.secrets.user and {obj.secrets.user, obj.secrets.password} or nil,
        json = {
            query = "query($expression:String!,$entity:Entity!,$duration:Duration!){execExpression(expression:$expression,"
                .. "entity:$entity,duration:$duration){error results{values{id value}}}}",
            variables = {expression = obj.params.query, entity = {serviceName = obj.params.service or obj.service, normal = true},
                duration = {start = minute(obj.window.from), ["end"] = minute(obj.window.to), step = "MINUTE"}},
        },
    }}}
end
local body = exchange.read(obj.answers[1], "SkyWalking")
if body.errors then exchange.fail("SkyWalking", body.errors) end
local found = body.data.execExpression
if found.error then exchange.fail("SkyWalking", found.error) end
local result = exchange.one(found.results, "SkyWalking")
return exchange.newest(result and result.values, "value")
