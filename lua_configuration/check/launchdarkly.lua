--@name Flag of LaunchDarkly
--@does check
--@asks https
--@secrets token
--@params project, flag, environment, on?, site?
--@use exchange
--@docs https://launchdarkly.com/docs/api/feature-flags/get-feature-flag
-- Passes while the flag is on; with `on: false`, while it is off.
if not obj.answers then
    return {ask = {{
        url = "https://" .. (obj.params.site or "app.launchdarkly.com") .. "/api/v2/flags/" .. obj.params.project
            .. "/" .. obj.params.flag,
        query = {env = obj.params.environment}, headers = {Authorization = obj.secrets.token},
    }}}
end
if obj.answers[1].status == 404 then return {fail = "there is no flag " .. obj.params.flag .. " in " .. obj.params.project} end
local environments = exchange.read(obj.answers[1], "LaunchDarkly").environments
local found = environments and environments[obj.params.environment]
if not found then return {fail = "the flag has no environment " .. obj.params.environment} end
local said = "the flag " .. obj.params.flag .. " is " .. (found.on and "on" or "off") .. " in " .. obj.params.environment
return found.on == (obj.params.on ~= false) and {pass = said} or {hold = said, again = 30}
