--@name No open incident in PagerDuty
--@does check
--@asks https
--@secrets token
--@params service, site?
--@use exchange
--@docs https://developer.pagerduty.com/api-reference/9d0b4b12e36f9-list-incidents
if not obj.answers then
    return {ask = {{
        url = "https://" .. (obj.params.site or "api.pagerduty.com") .. "/incidents",
        headers = {Authorization = "Token token=" .. obj.secrets.token},
        query = {["service_ids[]"] = obj.params.service, ["statuses[]"] = {"triggered", "acknowledged"}, limit = 1},
    }}}
end
local open = exchange.read(obj.answers[1], "PagerDuty").incidents[1]
if open then return {hold = "incident " .. open.incident_number .. " is open: " .. open.title, again = 60} end
return {pass = "no incident is open"}
