--@name Loki
--@does source
--@asks http, https
--@secrets token?, user?, password?
--@params address, query, tenant?
--@use exchange
--@docs https://grafana.com/docs/loki/latest/reference/loki-http-api/#query-logs-at-a-single-point-in-time
if not obj.answers then
    return {ask = {{
        url = obj.params.address .. "/loki/api/v1/query",
        query = {query = obj.params.query, time = obj.window.to},
        headers = {["X-Scope-OrgID"] = obj.params.tenant,
            Authorization = obj.secrets.token and "Bearer " .. obj.secrets.token},
        basic = obj.secrets.user and {obj.secrets.user, obj.secrets.password} or nil,
    }}}
end
return (exchange.vector(obj.answers[1], "Loki"))
