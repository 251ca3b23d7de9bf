--@name Azure Monitor
--@does source
--@asks https
--@secrets clientSecret
--@params tenant, clientId, resource, metric, aggregation?, filter?
--@use exchange
--@docs https://learn.microsoft.com/en-us/rest/api/monitor/metrics/list
-- The first turn gets a token of the application, the second one the values.
if obj.turn == 1 then
    return {ask = {{
        url = "https://login.microsoftonline.com/" .. obj.params.tenant .. "/oauth2/v2.0/token",
        form = {grant_type = "client_credentials", client_id = obj.params.clientId, client_secret = obj.secrets.clientSecret,
            scope = "https://management.azure.com/.default"},
    }}}
end
local found = exchange.read(obj.answers[1], "Azure")
local aggregation = obj.params.aggregation or "average"
if obj.turn == 2 then
    return {ask = {{
        url = "https://management.azure.com" .. obj.params.resource .. "/providers/Microsoft.Insights/metrics",
        query = {["api-version"] = "2024-02-01", metricnames = obj.params.metric, aggregation = aggregation,
            timespan = exchange.time(obj.window.from) .. "/" .. exchange.time(obj.window.to), interval = "PT1M",
            ["$filter"] = obj.params.filter},
        headers = {Authorization = "Bearer " .. found.access_token},
    }}}
end
local metric = exchange.one(found.value, "Azure")
local problem = metric and metric.errorCode
if problem and problem ~= "Success" then exchange.fail("Azure", metric.errorMessage or problem) end
local series = metric and exchange.one(metric.timeseries, "Azure")
return exchange.newest(series and series.data, aggregation:lower())
