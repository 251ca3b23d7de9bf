--@name GitHub commit status
--@does target
--@asks https
--@secrets token
--@params repository, commit, site?
--@use exchange, events
--@docs https://docs.github.com/en/rest/commits/statuses#create-a-commit-status
if obj.answers then return (exchange.sent(obj.answers[1], "GitHub")) end
local event = obj.event
local state = ({good = "success", bad = "failure"})[events.level(event)] or "pending"
return {ask = {{
    url = "https://" .. (obj.params.site or "api.github.com") .. "/repos/" .. obj.params.repository
        .. "/statuses/" .. obj.params.commit,
    headers = {Authorization = "Bearer " .. obj.secrets.token, Accept = "application/vnd.github+json",
        ["X-GitHub-Api-Version"] = "2022-11-28"},
    json = {state = state, context = "moonshift/" .. event.namespace .. "/" .. event.rollout, target_url = event.link,
        description = exchange.short(event.reason .. ": " .. event.message, 140)},
}}}
