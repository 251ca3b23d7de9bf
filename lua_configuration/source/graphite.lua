--@name Graphite
--@does source
--@asks http, https
--@secrets user?, password?
--@params query, address
--@use exchange
--@docs https://graphite.readthedocs.io/en/latest/render_api.html
if not obj.answers then
    return {ask = {{
        url = obj.params.address .. "/render",
        query = {target = obj.params.query, format = "json", noNullPoints = "true",
            from = obj.window.from, ["until"] = obj.window.to},
        basic = obj.secrets.user and {obj.secrets.user, obj.secrets.password} or nil,
    }}}
end
local series = exchange.one(exchange.read(obj.answers[1], "Graphite"), "Graphite")
return exchange.newest(series and series.datapoints, 1)
