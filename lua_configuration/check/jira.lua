--@name Jira issue
--@does check
--@asks https
--@secrets user, token
--@params address, issue, status?
--@use exchange
--@docs https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issues/#api-rest-api-3-issue-issueidorkey-get
-- Passes when the issue has this status; without one, when its status is in the category of done things.
if not obj.answers then
    return {ask = {{url = obj.params.address .. "/rest/api/3/issue/" .. obj.params.issue, query = {fields = "status"},
        basic = {obj.secrets.user, obj.secrets.token}}}}
end
if obj.answers[1].status == 404 then return {fail = "there is no issue " .. obj.params.issue .. " that this user may see"} end
local status = exchange.read(obj.answers[1], "Jira").fields.status
local said = obj.params.issue .. " is " .. status.name
local wanted = obj.params.status
local done = not wanted and status.statusCategory.key == "done" or wanted and status.name:lower() == wanted:lower()
return done and {pass = said} or {hold = said .. (wanted and ", not " .. wanted or ", not done"), again = 60}
