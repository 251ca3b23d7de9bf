--@name Datadog
--@does source
--@asks https
--@secrets apiKey, appKey
--@params query, site?
--@use exchange
--@docs https://docs.datadoghq.com/api/latest/metrics/#query-timeseries-points
if not obj.answers then
    return {ask = {{
        url = "https://api." .. (obj.params.site or "datadoghq.com") .. "/api/v1/query",
        query = {query = obj.params.query, from = obj.window.from, to = obj.window.to},
        headers = {["DD-API-KEY"] = obj.secrets.apiKey, ["DD-APPLICATION-KEY"] = obj.secrets.appKey},
    }}}
end
local found = exchange.read(obj.answers[1], "Datadog")
if found.status == "error" then exchange.fail("Datadog", found) end
local series = exchange.one(found.series, "Datadog")
return exchange.newest(series and series.pointlist, 2)
