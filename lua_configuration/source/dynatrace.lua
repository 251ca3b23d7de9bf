--@name Dynatrace
--@does source
--@asks https
--@secrets token
--@params query, address, resolution?
--@use exchange
--@docs https://docs.dynatrace.com/docs/dynatrace-api/environment-api/metric-v2/get-data-points
if not obj.answers then
    return {ask = {{
        url = obj.params.address .. "/api/v2/metrics/query",
        query = {metricSelector = obj.params.query, resolution = obj.params.resolution or "Inf",
            from = obj.window.from * 1000, to = obj.window.to * 1000},
        headers = {Authorization = "Api-Token " .. obj.secrets.token},
    }}}
end
local result = exchange.one(exchange.read(obj.answers[1], "Dynatrace").result, "Dynatrace")
local series = result and exchange.one(result.data, "Dynatrace")
if result and not series and result.warnings then exchange.fail("Dynatrace", result.warnings) end
return exchange.newest(series and series.values)
