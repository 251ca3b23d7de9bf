--@name Honeycomb
--@does source
--@asks https
--@secrets apiKey
--@params dataset, query, site?
--@use exchange
--@docs https://api-docs.honeycomb.io/api/query-data
-- The query is a query specification as JSON; it is made, run and asked for until it is complete.
local function request(path, content)
    return {url = "https://" .. (obj.params.site or "api.honeycomb.io") .. "/1/" .. path, json = content,
        headers = {["X-Honeycomb-Team"] = obj.secrets.apiKey}}
end
local results = "query_results/" .. obj.params.dataset
if obj.turn == 1 then
    local specification = json.decode(obj.params.query) or error("the parameter query is no JSON")
    specification.start_time, specification.end_time = obj.window.from, obj.window.to
    return {ask = {request("queries/" .. obj.params.dataset, specification)}}
end
local found = exchange.read(obj.answers[1], "Honeycomb")
if obj.turn == 2 then
    return {ask = {request(results, {query_id = found.id, disable_series = true, limit = 10})}}
elseif not found.complete then
    return exchange.later(request(results .. "/" .. found.id), 2)
end
if found.data.error then exchange.fail("Honeycomb", found.data) end
local row = exchange.one(found.data.results, "Honeycomb")
return {value = exchange.cell(row and row.data, "Honeycomb")}
