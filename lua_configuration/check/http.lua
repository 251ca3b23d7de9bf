--@name HTTP
--@does check
--@asks http, https
--@secrets token?, user?, password?
--@params address, method?, body?, status?, contains?, failStatus?
--@docs https://www.rfc-editor.org/rfc/rfc9110.html#name-status-codes
-- Passes with a good status (or the one that is named) and, if asked, with a text in the answer; fails with failStatus.
if not obj.answers then
    return {ask = {{
        method = obj.params.method or "GET", url = obj.params.address, body = obj.params.body,
        headers = {Authorization = obj.secrets.token and "Bearer " .. obj.secrets.token,
            ["Content-Type"] = obj.params.body and "application/json"},
        basic = obj.secrets.user and {obj.secrets.user, obj.secrets.password} or nil,
    }}}
end
local answer = obj.answers[1]
local said = "it answered " .. answer.status
if answer.status == obj.params.failStatus then return {fail = said} end
local good = answer.status == (obj.params.status or math.min(math.max(answer.status, 200), 299))
if not good then return {hold = said, again = 15} end
if obj.params.contains and not answer.body:find(obj.params.contains, 1, true) then
    return {hold = said .. " without the text " .. obj.params.contains, again = 15}
end
return {pass = said}
