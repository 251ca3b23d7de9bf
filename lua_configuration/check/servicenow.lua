--@name ServiceNow change request
--@does check
--@asks https
--@secrets user, password
--@params address, change
--@use exchange
--@docs https://www.servicenow.com/docs/r/api-reference/rest-apis/c_TableAPI.html
-- Passes while the change request is approved and in the state Implement (-1).
if not obj.answers then
    return {ask = {{
        url = obj.params.address .. "/api/now/table/change_request", basic = {obj.secrets.user, obj.secrets.password},
        query = {sysparm_query = "number=" .. obj.params.change, sysparm_fields = "number,state,approval", sysparm_limit = 1},
    }}}
end
local change = exchange.read(obj.answers[1], "ServiceNow").result[1]
if not change then return {fail = "there is no change request " .. obj.params.change} end
if change.approval == "rejected" then return {fail = change.number .. " was rejected"} end
-- Closed (3) and cancelled (4) do not come back.
if change.state == "3" or change.state == "4" then return {fail = change.number .. " is closed"} end
if change.approval ~= "approved" or change.state ~= "-1" then
    return {hold = change.number .. " is " .. change.approval .. ", state " .. change.state, again = 60}
end
return {pass = change.number .. " is approved and under way"}
