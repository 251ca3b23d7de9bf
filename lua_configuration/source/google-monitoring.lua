--@name Google Cloud Monitoring
--@does source
--@asks https
--@sign google monitoring.read
--@params project, query
--@use exchange
--@docs https://cloud.google.com/monitoring/api/ref_v3/rest/v1/projects.location.prometheus.api.v1/query
-- The query is PromQL, and is evaluated at the end of the window.
if not obj.answers then
    return {ask = {{
        url = "https://monitoring.googleapis.com/v1/projects/" .. obj.params.project
            .. "/location/global/prometheus/api/v1/query",
        method = "POST", form = {query = obj.params.query, time = obj.window.to}, sign = "google",
    }}}
end
return (exchange.vector(obj.answers[1], "Google Cloud Monitoring"))
