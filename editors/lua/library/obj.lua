---@meta obj

-- What scripts find besides Lua 5.1, for the Lua language server (EmmyLua annotations).
-- An editor that opens this repository reads it through .luarc.json; for scripts that live elsewhere, copy this file
-- and put its folder into `workspace.library` of your own .luarc.json. The contract is described in docs/scripts.md.

---Content of the gateway object before the release: never of the live object, so no step depends on the one before.
---@class moonshift.Data
---@field spec table<string, any>
---@field labels? table<string, string> absent where there are none
---@field annotations? table<string, string> absent where there are none

---A condition on a header or a query parameter.
---@class moonshift.ValueMatch
---@field type? "Exact"|"RegularExpression" the API server sets Exact where it is left out
---@field name string
---@field value string

---@class moonshift.PathMatch
---@field type? "Exact"|"PathPrefix"|"RegularExpression"
---@field value? string

---One alternative: all that it names must hold.
---@class moonshift.Match
---@field path? moonshift.PathMatch
---@field headers? moonshift.ValueMatch[]
---@field queryParams? moonshift.ValueMatch[]
---@field method? string

---@class moonshift.NameValue
---@field name string
---@field value string

---@class moonshift.HeaderModifier
---@field set? moonshift.NameValue[]
---@field add? moonshift.NameValue[]
---@field remove? string[]

---@class moonshift.PodMetadata
---@field labels table<string, string>
---@field annotations table<string, string>

---@class moonshift.Object
---@field apiVersion string
---@field kind string
---@field name string
---@field namespace string

---Another object of the same release, read only.
---@class moonshift.Sibling: moonshift.Object
---@field spec? table<string, any>
---@field labels? table<string, string>
---@field annotations? table<string, string>

---What a script is given: the global `obj`.
---@class moonshift.Obj
---@field data moonshift.Data change it and return it
---@field canaryWeight number 0 to 100, may have a fraction; -1 where the step has no traffic
---@field stableWeight number 100 - canaryWeight; 101 where the step has no traffic
---@field canaryService string the same as stableService where both revisions share one Service
---@field stableService string
---@field matches? moonshift.Match[] nil where the step has none: ipairs(obj.matches or {})
---@field requestHeaderModifier? moonshift.HeaderModifier
---@field announce? boolean true where the canary Service is to be named with no share (--@announce)
---@field patchPodMetadata moonshift.PodMetadata what new pods get besides the template's
---@field object moonshift.Object which object this is
---@field params table<string, any> parameters of the reference
---@field siblings moonshift.Sibling[] kinds that the header asks for with --@siblings

---What a script of an Ingress class is given besides what others are; it returns the annotations of the canary Ingress,
---or `{objects = …}` with copies of `canaryIngress`, or `data` to change the owner's Ingress in place.
---Write `---@type moonshift.IngressObj` and `local obj = obj` at the top of such a script.
---@class moonshift.IngressObj
---@field annotations? table<string, string> those the canary Ingress is copied with; nil where there are none
---@field weight string "0" to "100"; "-1" where the step has no traffic
---@field canaryIngress table the copy of the Ingress that is made where the answer is annotations
---@field data moonshift.Data
---@field canaryWeight number
---@field stableWeight number
---@field siblings moonshift.Sibling[]
---@field canaryService string
---@field stableService string
---@field matches? moonshift.Match[]
---@field requestHeaderModifier? moonshift.HeaderModifier
---@field patchPodMetadata moonshift.PodMetadata
---@field object moonshift.Object
---@field params table<string, any>

---@type moonshift.Obj
obj = nil

---@class jsonlib
---@field null userdata a null that is written, where nil would leave the key out
json = {}

---A value as JSON text; nil and a message where it has no JSON form.
---@param value any
---@return string? text
---@return string? problem
function json.encode(value) end

---The value of a JSON text; nil and a message where it is none.
---@param text string
---@return any value
---@return string? problem
function json.decode(text) end

---Makes an empty table be written as [].
---@param t? table
---@return table
function json.array(t) end

---Makes an empty table be written as {}.
---@param t? table
---@return table
function json.object(t) end

---An empty table.
---@return table
function table.create() end
