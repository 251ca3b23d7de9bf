--@name Wavefront
--@does source
--@asks https
--@secrets token
--@params query, address
--@use exchange
--@docs https://docs.wavefront.com/wavefront_api.html
if not obj.answers then
    return {ask = {{
        url = obj.params.address .. "/api/v2/chart/api",
        query = {q = obj.params.query, s = obj.window.from * 1000, e = obj.window.to * 1000, g = "m", sorted = "true"},
        headers = {Authorization = "Bearer " .. obj.secrets.token},
    }}}
end
local found = exchange.read(obj.answers[1], "Wavefront")
if found.errorType then exchange.fail("Wavefront", found.errorMessage or found.errorType) end
local series = exchange.one(found.timeseries, "Wavefront")
if not series and found.warnings then exchange.fail("Wavefront", found.warnings) end
return exchange.newest(series and series.data, 2)
