--@name InfluxDB with InfluxQL
--@does source
--@asks http, https
--@secrets token?, user?, password?
--@params query, address, database
--@use exchange
--@docs https://docs.influxdata.com/influxdb/v1/tools/api/#query-http-endpoint
-- $window in the query is the condition on the time.
if not obj.answers then
    local window = "time >= " .. obj.window.from .. "s AND time < " .. obj.window.to .. "s"
    return {ask = {{
        url = obj.params.address .. "/query",
        query = {db = obj.params.database, q = (obj.params.query:gsub("%$window", window)), epoch = "s"},
        headers = obj.secrets.token and {Authorization = "Token " .. obj.secrets.token} or nil,
        basic = obj.secrets.user and {obj.secrets.user, obj.secrets.password} or nil,
    }}}
end
local result = exchange.read(obj.answers[1], "InfluxDB").results[1]
if result.error then exchange.fail("InfluxDB", result.error) end
local series = exchange.one(result.series, "InfluxDB")
return exchange.newest(series and series.values, 2)
