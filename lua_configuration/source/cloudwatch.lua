--@name CloudWatch
--@does source
--@asks https
--@sign aws monitoring
--@params region, query, period?
--@use exchange
--@docs https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
if not obj.answers then
    return {ask = {{
        method = "POST", url = "https://monitoring." .. obj.params.region .. ".amazonaws.com/", sign = "aws",
        headers = {["X-Amz-Target"] = "GraniteServiceVersion20100801.GetMetricData",
            ["Content-Type"] = "application/x-amz-json-1.0"},
        json = {StartTime = obj.window.from, EndTime = obj.window.to, ScanBy = "TimestampAscending",
            MetricDataQueries = {{Id = "q", Expression = obj.params.query, Period = obj.params.period or 60}}},
    }}}
end
local series = exchange.one(exchange.read(obj.answers[1], "CloudWatch").MetricDataResults, "CloudWatch")
if series and (series.StatusCode == "InternalError" or series.StatusCode == "Forbidden") then
    exchange.fail("CloudWatch", {series.Messages and series.Messages[1] and series.Messages[1].Value or series.StatusCode})
end
return exchange.newest(series and series.Values)
