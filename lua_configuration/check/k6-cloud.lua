--@name Load test of Grafana Cloud k6
--@does check
--@asks https
--@secrets token
--@params test, stack
--@use exchange
--@docs https://grafana.com/docs/grafana-cloud/testing/k6/reference/cloud-rest-api/
-- The test is started once: the key of its start is the same after a crash, and the state has the run to look at.
local headers = {Authorization = "Bearer " .. obj.secrets.token, ["X-Stack-Id"] = tostring(obj.params.stack)}
local api = "https://api.k6.io/cloud/v6/"
if not obj.answers and obj.state then
    return {ask = {{url = api .. "test_runs/" .. obj.state.run, headers = headers}}, state = obj.state}
elseif not obj.answers then
    headers["K6-Idempotency-Key"] = obj.id
    return {ask = {{method = "POST", url = api .. "load_tests/" .. obj.params.test .. "/start", headers = headers}}}
end
local run = exchange.read(obj.answers[1], "k6")
local said = "run " .. run.id .. " of load test " .. obj.params.test .. " is " .. run.status
if run.status ~= "completed" and run.status ~= "aborted" then
    return {hold = said, again = 15, state = {run = run.id}}
end
if run.result == "passed" then return {pass = said .. ": passed"} end
return {fail = said .. ": " .. (run.result or "no result")}
