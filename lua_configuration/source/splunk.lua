--@name Splunk search
--@does source
--@asks https
--@secrets token
--@params query, address
--@use exchange
--@docs https://help.splunk.com/en/splunk-enterprise/rest-api-reference/10.0/search-endpoints/search-endpoint-descriptions
-- A search is a job: started in the first turn, asked until it is done, and then read.
local jobs = obj.params.address .. "/services/search/v2/jobs"
local function of_job(path)
    return {url = jobs .. path, headers = {Authorization = "Bearer " .. obj.secrets.token}, query = {output_mode = "json"}}
end
if obj.turn == 1 then
    local start = of_job("")
    start.query, start.method = nil, "POST"
    start.form = {search = obj.params.query, earliest_time = obj.window.from, latest_time = obj.window.to, output_mode = "json"}
    return {ask = {start}}
end
local found = exchange.read(obj.answers[1], "Splunk")
if obj.turn == 2 then return exchange.later(of_job("/" .. found.sid), 1, {sid = found.sid}) end
local job = found.entry and found.entry[1].content
if job and job.isFailed then exchange.fail("Splunk", job.messages) end
if job and not job.isDone then return exchange.later(of_job("/" .. obj.state.sid), 3, obj.state) end
if job then return {ask = {of_job("/" .. obj.state.sid .. "/results")}, state = obj.state} end
return {value = exchange.cell(exchange.one(found.results, "Splunk"), "Splunk")}
