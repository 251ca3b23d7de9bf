---@meta obj

-- The globals of a script in addition to those of Lua 5.1, for the Lua language server (EmmyLua annotations).
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

---One alternative: a request must meet every condition in it.
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

---The input of a script: the global `obj`.
---@class moonshift.Obj
---@field data moonshift.Data change it and return it
---@field canaryWeight number 0 to 100, may have a fraction; -1 where the step has no traffic
---@field stableWeight number 100 - canaryWeight; 101 where the step has no traffic
---@field canaryService string the same as stableService where both revisions share one Service
---@field stableService string
---@field matches? moonshift.Match[] nil where the step has none: ipairs(obj.matches or {})
---@field requestHeaderModifier? moonshift.HeaderModifier
---@field announce? boolean true if the object must name the canary Service without a share (--@announce)
---@field patchPodMetadata moonshift.PodMetadata labels and annotations that new pods get in addition to the template's
---@field stablePodLabels? table<string, string> labels of the stable pods; nil if they are not known
---@field object moonshift.Object the name and kind of this object
---@field params table<string, any> parameters of the reference
---@field siblings moonshift.Sibling[] kinds that the header asks for with --@siblings

---The additional fields that a script of an Ingress class gets; it returns the annotations of the canary Ingress,
---or `{objects = …}` with copies of `canaryIngress`, or `data` to change the owner's Ingress in place.
---Write `---@type moonshift.IngressObj` and `local obj = obj` at the top of such a script.
---@class moonshift.IngressObj
---@field annotations? table<string, string> the annotations of the canary Ingress's copy; nil if it has none
---@field weight string "0" to "100"; "-1" where the step has no traffic
---@field canaryIngress? table the copy of the Ingress that is created if the answer is annotations; nil if only an annotation leads to the stable Service
---@field data moonshift.Data
---@field canaryWeight number
---@field stableWeight number
---@field siblings moonshift.Sibling[]
---@field canaryService string
---@field stableService string
---@field matches? moonshift.Match[]
---@field requestHeaderModifier? moonshift.HeaderModifier
---@field patchPodMetadata moonshift.PodMetadata
---@field stablePodLabels? table<string, string>
---@field object moonshift.Object
---@field params table<string, any>

---@type moonshift.Obj|moonshift.AskingObj
obj = nil

---@class jsonlib
---@field null userdata a null in the JSON text; a nil leaves the key out
json = {}

---A value as JSON text; nil and a message if it has no JSON form.
---@param value any
---@return string? text
---@return string? problem
function json.encode(value) end

---The value of a JSON text; nil and a message if the text is not JSON. A null is absent, or with `nulls` it is `json.null`, so
---that the items of a list keep their places.
---@param text string
---@param options? {nulls?: boolean}
---@return any value
---@return string? problem
function json.decode(text, options) end

---A deep copy. It is written like the value: an empty list stays a list, nulls in lists stay.
---@param value any
---@return any
function json.copy(value) end

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
