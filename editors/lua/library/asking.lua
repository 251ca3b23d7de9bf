---@meta asking

-- The globals of scripts that ask (`--@does source`, `check` and `target`), for the Lua language server.
-- A script asks nothing itself: it returns requests, and is called again with the answers.

---@alias moonshift.Sent string|number|boolean|(string|number|boolean)[] a value of a query or a form

---A request: to an address, or for an object of Kubernetes.
---@class moonshift.Request
---@field method? "GET"|"POST"|"PUT"|"PATCH"|"DELETE"|"HEAD" GET where it is left out, POST if there is form, json or body
---@field url? string with http:// or https://; a secret may stand behind the host only
---@field query? table<string, moonshift.Sent> added to the address
---@field headers? table<string, string>
---@field form? table<string, moonshift.Sent>
---@field json? any
---@field body? string
---@field basic? string[] user and password
---@field sign? "aws"|"google"|"hmac" what the header says with --@sign
---@field get? {apiVersion: string, kind: string, name: string} an object of the Rollout's namespace

---A script's answer that asks: its requests are sent, and the next turn has their answers.
---@class moonshift.Asking
---@field ask moonshift.Request[] one to four
---@field again? number seconds to wait before
---@field state? table what the next turn gets as `obj.state`, at most 1 KB as JSON

---What was answered, in the order of the requests.
---@class moonshift.Answer
---@field status integer
---@field headers? table<string, string> names in small letters
---@field body? string values of secrets are taken out
---@field object? table of a request with `get`

---The last answer of a source; without a value there is no data.
---@class moonshift.Measured
---@field value? number|string|boolean
---@field samples? number

---The last answer of a check: one of pass, hold and fail, in words.
---@class moonshift.Checked
---@field pass? string
---@field hold? string
---@field fail? string
---@field again? number seconds until a check that holds is asked again, 5 or more
---@field state? table of a check that holds

---The last answer of a target.
---@class moonshift.Told
---@field sent? boolean
---@field again? number seconds until the event is told again
---@field why? string

---The release that a source, a check or a target is about; fields that are not known are absent.
---@class moonshift.Release
---@field rollout string
---@field namespace string
---@field revision? string
---@field stableRevision? string
---@field step? integer
---@field steps? integer
---@field weight? number
---@field images? table<string, string> by the container's name
---@field phase? string

---What a target tells somebody.
---@class moonshift.Event
---@field reason string
---@field message string
---@field namespace string
---@field rollout string
---@field release? string
---@field revision? string
---@field step? integer
---@field steps? integer
---@field image? string
---@field images? table<string, string>
---@field link? string
---@field who? string
---@field next? string what to type next
---@field kind? string
---@field uid? string
---@field time integer seconds since 1970

---The input of a script that asks: the global `obj`.
---@class moonshift.AskingObj
---@field params table<string, string|number|boolean> as the author wrote them; names are those of --@params
---@field secrets table<string, string> a mark for each name of --@secrets, never the value
---@field now integer seconds since 1970
---@field turn integer 1, 2, …
---@field id string the same in all turns, and when the same is asked again after a crash
---@field state? table what the turn before returned
---@field answers? moonshift.Answer[] from turn 2 on
---@field window {from: integer, to: integer} of a source, seconds since 1970
---@field service string of a source: the side that is asked
---@field revision string of a source
---@field release moonshift.Release
---@field event moonshift.Event of a target
