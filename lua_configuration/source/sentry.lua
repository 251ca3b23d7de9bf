--@name Sentry
--@does source
--@asks https
--@secrets token
--@params organization, query, project?, environment?, field?, dataset?, site?
--@use exchange
--@docs https://docs.sentry.io/api/explore/query-explore-events-in-table-format/
local field = obj.params.field or "count()"
if not obj.answers then
    local path = "/api/0/organizations/" .. obj.params.organization .. "/events/"
    return {ask = {{
        url = "https://" .. (obj.params.site or "sentry.io") .. path,
        query = {field = field, query = obj.params.query, dataset = obj.params.dataset or "errors", per_page = 2,
            project = obj.params.project, environment = obj.params.environment,
            start = exchange.time(obj.window.from), ["end"] = exchange.time(obj.window.to)},
        headers = {Authorization = "Bearer " .. obj.secrets.token},
    }}}
end
local found = exchange.read(obj.answers[1], "Sentry")
if not found.data then exchange.fail("Sentry", found) end
local row = exchange.one(found.data, "Sentry")
return {value = row and exchange.number(row[field])}
