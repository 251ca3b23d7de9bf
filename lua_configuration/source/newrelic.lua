--@name New Relic
--@does source
--@asks https
--@secrets apiKey
--@params query, account, region?
--@use exchange
--@docs https://docs.newrelic.com/docs/apis/nerdgraph/examples/nerdgraph-nrql-tutorial/
if not obj.answers then
    local nrql = obj.params.query
    if not nrql:upper():find("SINCE") then nrql = nrql .. " SINCE " .. obj.window.from .. " UNTIL " .. obj.window.to end
    return {ask = {{
        method = "POST", url = "https://api." .. (obj.params.region == "eu" and "eu." or "") .. "newrelic.com/graphql",
        headers = {["API-Key"] = obj.secrets.apiKey},
        json = {
            query = "query($account:Int!,$nrql:Nrql!){actor{account(id:$account){nrql(query:$nrql){results}}}}",
            variables = {account = tonumber(obj.params.account), nrql = nrql},
        },
    }}}
end
local body = exchange.read(obj.answers[1], "New Relic")
if body.errors then exchange.fail("New Relic", body.errors) end
local values = {}
local rows = body.data.actor.account.nrql.results
for number, row in ipairs(rows) do
    values[number] = json.null
    for name, value in pairs(row) do
        if type(value) == "table" then value = select(2, next(value)) end -- a percentile
        if not name:find("^%l+TimeSeconds$") and name ~= "facet" then values[number] = value end
    end
end
-- Rows of a TIMESERIES are buckets.
if not (rows[1] and rows[1].beginTimeSeconds) then exchange.one(rows, "New Relic") end
return exchange.newest(values)
