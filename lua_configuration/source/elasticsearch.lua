--@name Elasticsearch and OpenSearch
--@does source
--@asks http, https
--@secrets apiKey?, user?, password?
--@params address, index, query, metric?, field?, time?
--@use exchange
--@docs https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-search
-- The value is the number of documents, or a metric (avg, max, cardinality …) of a field.
if not obj.answers then
    local range = {gte = obj.window.from * 1000, lt = obj.window.to * 1000, format = "epoch_millis"}
    return {ask = {{
        method = "POST", url = obj.params.address .. "/" .. obj.params.index .. "/_search",
        headers = obj.secrets.apiKey and {Authorization = "ApiKey " .. obj.secrets.apiKey} or nil,
        basic = obj.secrets.user and {obj.secrets.user, obj.secrets.password} or nil,
        json = {
            size = 0, track_total_hits = true,
            query = {bool = {filter = {{query_string = {query = obj.params.query}},
                {range = {[obj.params.time or "@timestamp"] = range}}}}},
            aggs = obj.params.metric and {value = {[obj.params.metric] = {field = obj.params.field}}} or nil,
        },
    }}}
end
local found = exchange.read(obj.answers[1], "Elasticsearch")
if found.timed_out then error("Elasticsearch says: the search timed out, and its numbers are not complete") end
local shards = found._shards
if shards and shards.failed > 0 then exchange.fail("Elasticsearch", shards.failures and shards.failures[1].reason) end
if not obj.params.metric then return {value = found.hits.total.value} end
local value, several = found.aggregations.value.value, {}
for _, one in pairs(found.aggregations.value.values or {}) do several[#several + 1] = one end
return {value = exchange.number(exchange.one(several, "Elasticsearch") or value), samples = found.hits.total.value}
