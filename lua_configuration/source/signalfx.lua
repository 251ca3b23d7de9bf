--@name Splunk Observability (SignalFx)
--@does source
--@asks https
--@secrets token
--@params query, realm
--@use exchange
--@docs https://dev.splunk.com/observability/reference/api/signalflow/latest#endpoint-start-signalflow-computation
-- The query is a SignalFlow program with one publish(). The answer is a stream of events, which ends at once.
if not obj.answers then
    return {ask = {{
        method = "POST", url = "https://stream." .. obj.params.realm .. ".signalfx.com/v2/signalflow/execute",
        query = {start = obj.window.from * 1000, stop = obj.window.to * 1000, immediate = "true"},
        headers = {["X-SF-TOKEN"] = obj.secrets.token, ["Content-Type"] = "text/plain"}, body = obj.params.query,
    }}}
end
local points, series = {}, {}
local stream = exchange.accept(obj.answers[1], "SignalFx"):gsub("\r", "") .. "\n\n"
for event in stream:gmatch("(.-)\n\n+") do
    local text = event:gsub("^.-\ndata:", "", 1):gsub("\ndata:", ""):gsub("\n%l+:[^\n]*", "")
    local kind, data = event:match("event: ?([%w-]+)"), json.decode(text)
    if kind == "error" then exchange.fail("SignalFx", data) end
    for _, point in ipairs(kind == "data" and data.data or {}) do
        if not series[point.tsId] then
            series[point.tsId], series[#series + 1] = true, point.tsId
        end
        points[#points + 1] = point
    end
end
exchange.one(series, "SignalFx")
return exchange.newest(points, "value")
