---@meta modules

-- The script library's modules for the Lua language server. Generated from lua_configuration/library: do not edit, run `make generate`.
-- A script finds a module where its header asks for it: --@use steps, weights

---What a step asks for; made by `steps.of`.
---@class moonshift.Step
---@field obj moonshift.Obj
---@field kind string what messages call the object
---@field spec table<string, any> `obj.data.spec`
---@field stable string the stable Service
---@field canary string the new version's Service
---@field namespace? string of the object
---@field params table<string, any>
---@field modifier? moonshift.HeaderModifier
---@field weight number share of the new version, -1 at a step without traffic
---@field matches moonshift.Match[] empty where there are none
---@field found boolean a rule points at the stable Service
---@field done boolean the step could be carried out on one
---@field seen any[] what `routes.first_time` was asked about

---How a kind names a Service; see `backends.of`.
---@class moonshift.BackendDescription
---@field name? string
---@field port? string
---@field namespace? string
---@field kinds? string[]
---@field groups? string[]
---@field only? fun(entry: table): boolean
---@field drop? string[]
---@field without_weight? number|fun(entries: table[]): number
---@field most? number
---@field exact? boolean
---@field headers? string|fun(entry: table, modifier: moonshift.HeaderModifier)
---@field is_stable? fun(entry: table): any
---@field canary? fun(entry: table): table
---@field address? fun(entry: table): any

---Made by `backends.of`.
---@class moonshift.Backends
---@field is_stable fun(entry: table): any whether an entry leads to the stable Service
---@field canary fun(entry: table): table a copy that leads to the new version
---@field address fun(entry: table): any the same for entries that lead to the same
---@field change_headers fun(entry?: table, modifier?: moonshift.HeaderModifier)
---@field without_weight? number|fun(entries: table[]): number
---@field most? number
---@field exact? boolean

---@class moonshift.Condition
---@field what "header"|"query"|"cookie"|"method"
---@field name? string
---@field value string
---@field regex? boolean

---One alternative of the step.
---@class moonshift.Alternative
---@field conditions moonshift.Condition[]
---@field path? {type: "Exact"|"PathPrefix"|"RegularExpression", value: string}

---How `routes.copies` narrows a copy of a rule.
---@class moonshift.CopyWays
---@field match_of fun(rule: table): table the part that has the conditions; made where it is not there
---@field set_path fun(match: table, path: table, rule: table)
---@field add fun(match: table, condition: moonshift.Condition): boolean false where it can never hold
---@field told_apart_by? fun(rule: table, source: table): any what must not come twice; the match where nothing is given
---@field finish? fun(rule: table, number: integer, before: integer) lets the copy lead to the new version

---A kind for `routes.carry_out`.
---@class moonshift.OrdinaryKind: moonshift.CopyWays
---@field rules string
---@field backends string
---@field can? string
---@field alone? number

---Which match wins, and how rules are copied; see `precedence.with_copies`.
---@class moonshift.Precedence
---@field path_of fun(match: table): {type: string, value: string}
---@field with_path fun(match: table, path: table): table the match with another path
---@field rank fun(match: table): (number|string)[] what decides, in this order; the higher number, the first text
---@field size fun(match: table): number how many conditions there are beside the path
---@field joined fun(known: moonshift.KnownMatch, made: moonshift.KnownMatch): table? both at once; nil where that never holds
---@field unordered? boolean of two that are even, either may win; else the first rule does
---@field is_ours? fun(rule: table): boolean
---@field matches_of? fun(rule: table): table[]
---@field replaces_prefix? fun(rule: table): boolean
---@field combined? fun(rule: table, source: table, alternative: moonshift.Alternative): table[]
---@field copies? fun(rule: table, matches: table[]): table[]

---@class moonshift.KnownMatch
---@field index integer place of the rule
---@field match table
---@field ours boolean
---@field replaces? boolean
---@field path? table the step's own

---How a kind says which Service an entry of its lists leads to.
---For scripts with the line `--@use backends`.
backends = {}

---Backends that name a Service in a field, from a description. What a description does not say is not asked for:
---
---* `name`: the field with the Service's name; `port`: the field with its port, where one Service may stand there twice
---* `namespace`: the field with a namespace; an entry of another namespace is not the Service
---* `kinds`, `groups`: what the entry's `kind` and `group` may be; leaving them out is always fine
---* `only`: a function that says whether an entry is a backend at all
---* `drop`: fields that belong to the old version alone
---* `without_weight`: what an entry without a weight counts as, a number or a function of the list
---* `most`: the greatest weight that the kind takes
---* `exact`: the new version is named at 0 % too, weights grow only where a share is no whole number, and one may be 0
---* `headers`: a function `(entry, modifier)` that changes headers of what goes to one entry, or why that cannot be
---* `is_stable`, `canary`, `address`: functions of an entry for kinds that say it in another way: whether it leads to the
---  stable Service; a copy that leads to the new version, without a weight; a text that two entries share if they lead to
---  the same
---@param step moonshift.Step
---@param description moonshift.BackendDescription
---@return moonshift.Backends
function backends.of(step, description) end

---What an entry without a weight counts as, for kinds where several entries without any have the same share, and one beside
---others with a weight has none. To be given as `without_weight`.
---@param entries table[]
---@return number
function backends.even_or_nothing(entries) end

---The matches of a step as conditions, each in the same form whatever it is about, and as regular expressions where a gateway
---needs them.
---For scripts with the line `--@use conditions`.
conditions = {}

---The step's matches: of the alternatives one has to hold, of an alternative's conditions all. A condition has `what`
---(header, query, cookie or method), `name`, `value`, and `regex` where the value is an expression; a path has `type` and
---`value`. What the kind cannot match is an error in words.
---@param step moonshift.Step
---@param can string words of `--@can`: header, header-regex, query, cookie, method, path
---@return moonshift.Alternative[]
function conditions.wanted(step, can) end

---Name and value of the cookie that a match on `canary-by-cookie` means: `name=value`, or a name alone for the cookie that
---says "always".
---@param text string
---@return string name
---@return string value
function conditions.cookie(text) end

---A text as a regular expression that means it letter by letter.
---@param text string
---@return string
function conditions.escape(text) end

---A cookie as an expression for the header that carries all of them.
---@param condition moonshift.Condition
---@param ends? boolean for gateways that search: the expression need not match the whole header
---@return string
function conditions.cookie_pattern(condition, ends) end

---A condition as an expression that matches the whole value, for gateways that search for it.
---@param condition moonshift.Condition|{value: string, regex: boolean}
---@return string
function conditions.whole(condition) end

---The condition for a gateway that has no word for cookies: one on the header that carries them.
---@param condition moonshift.Condition
---@return moonshift.Condition
function conditions.cookie_as_header(condition) end

---Adds a condition to a list of named ones, unless it is there; false where it can never hold together with one of them.
---@param list moonshift.NameValue[]
---@param condition moonshift.Condition
---@param form {exact: (fun(known: table): string?), write: (fun(condition: moonshift.Condition): table)} `exact`: the value
---  where an item asks for exactly one; `write`: a new item
---@return boolean
function conditions.add(list, condition, form) end

---Leaves one method in `holder.methods`; false where it was not among those that were there.
---@param holder {methods?: string[]}
---@param method string
---@return boolean
function conditions.only_method(holder, method) end

---For kinds whose routes lead to backends by names of their own, which are declared elsewhere in the object with their Service:
---the new version gets a copy of each backend of the stable Service.
---For scripts with the line `--@use named_backends`.
named_backends = {}

---Looks through the declared backends. For each of the stable Service there is one of the new version: the one that stands
---there, else a copy called `<name>-canary`.
---@param step moonshift.Step
---@param declared table[]?
---@param fields {service: string, port: string, noun: string, only?: fun(backend: table): boolean} where a backend has its
---  Service and its port, what messages call it, and whether it is one of a Service at all
---@return table<string, string> twins names of the stable Service's backends, each with that of the new version's
---@return table[] complete the declared backends with the copies
function named_backends.with_copies(step, declared, fields) end

---Paths of other Services that win over those of the stable Service by being more specific. Where conditions come before
---paths and hosts, an Ingress with conditions would take requests of them along: there they stand in it as well.
---For scripts with the line `--@use other_paths`.
other_paths = {}

---Adds those paths to an Ingress beside the owner's, leading where they lead.
---@param obj moonshift.IngressObj
---@param ingress table
function other_paths.keep(obj, ingress) end

---For gateways where the most specific rule wins, not the first: keeps the requests of other rules with them.
---
---A copy of a rule may win over a rule that came before its source. Such a rule gets a guard: a copy of it with the other's
---conditions on top of its own, which leads where the rule leads.
---For scripts with the line `--@use precedence`.
precedence = {}

---The rules with copies of those that lead to the stable Service before them, and with guards before others.
---@param step moonshift.Step
---@param kind moonshift.Precedence which match wins, and how a rule is copied
---@param rules table[]
---@param wanted moonshift.Alternative[]
---@return table[]
function precedence.with_copies(step, kind, rules, wanted) end

---Rules for the new version alone: copies of the rules that lead to the stable Service, bound to the step's matches.
---For scripts with the line `--@use routes`.
routes = {}

---Whether a value is seen for the first time at this step: what a rule further up was given is not said again.
---@param step moonshift.Step
---@param value any
---@return boolean
function routes.first_time(step, value) end

---Copies of one rule, one for each alternative of the step that can hold together with the rule's own conditions. What was
---made for another rule already is left out.
---@param step moonshift.Step
---@param rule table
---@param wanted moonshift.Alternative[]
---@param ways moonshift.CopyWays
---@return table[]
function routes.copies(step, rule, wanted, ways) end

---The rules with their copies, each right before the rule it comes from.
---@param step moonshift.Step
---@param rules table[]?
---@param is_ours fun(rule: table): boolean whether a rule leads to the stable Service
---@param copies_of fun(rule: table): table[]
---@return table[]
function routes.with_copies(step, rules, is_ours, copies_of) end

---Carries the step out on an ordinary kind: `spec` has a list of rules, each rule has a list of backends, and the first rule
---that fits wins. `rules` and `backends` are the names of the two lists, `can` the words of `--@can` about matches; without it
---a step with matches is an error. The rest is how a copy of a rule is bound to an alternative of the step, as in
---`routes.copies`; a copy leads to the new version alone, with the weight `alone` where that is given.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param kind moonshift.OrdinaryKind
function routes.carry_out(step, services, kind) end

---Arithmetic of shares: percentages as whole numbers whose sum stays what it was.
---For scripts with the line `--@use shares`.
shares = {}

---Whole numbers with the sum `total`, as near to its parts as can be.
---@param parts number[] shares of 1
---@param total number
---@param least? number what a part that is more than nothing has at least; 1 where nothing is given, and the total is enough
---@return number[]
function shares.largest_remainder(parts, total, least) end

---What the weights of a list are multiplied by, so that they can say the step's share. `params.scale` of the reference wins.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param total number what the stable Service and the new version have together
---@param sum number what all have together
---@return number
function shares.scale_for(step, services, total, sum) end

---The conditions of Skipper's routes: what they mean, and which of two routes wins. The tree of paths is asked first, then the
---number of conditions decides, whatever the order.
---For scripts with the line `--@use skipper`.
skipper = {}

---A predicate or a filter: its name with texts.
---@param name string
---@param texts string[]
---@return string
function skipper.call(name, texts) end

---The part of a route that says which requests it has.
---@param route table
---@return table
function skipper.match_of(route) end

---Adds a condition; false where it can never hold together with what is there.
---@param match table
---@param condition moonshift.Condition
---@return boolean
function skipper.add(match, condition) end

---Which of two matches wins, as `precedence` asks for it. Of as many conditions either may.
---@return moonshift.Precedence
function skipper.precedence() end

---What a step asks for, and the frame in which a script carries it out: either its matches, or its share of the traffic.
---For scripts with the line `--@use steps`.
steps = {}

---A step, as the other modules want it. An error where the old and the new version share one Service, unless the kind can
---tell them apart there.
---@param obj moonshift.Obj
---@param kind? string what messages call the object; its kind where nothing is given
---@param one_service? boolean the kind can tell the versions of one Service apart
---@return moonshift.Step
function steps.of(obj, kind, one_service) end

---Whether a reference's namespace is the object's own; a reference without one means that.
---@param step moonshift.Step
---@param namespace string?
---@return boolean
function steps.here(step, namespace) end

---An error where the step has a share that is no whole number of percent.
---@param step moonshift.Step
function steps.only_whole_percents(step) end

---Carries the step out: `match` for its matches, `divide` for its share. Matches win over a share; with `params.both` the
---reference asks for the two at once. The two functions set `step.found` where a rule points at the stable Service, and
---`step.done` where the step could be carried out on one; it is an error where they did not.
---@param step moonshift.Step
---@param ways {match?: fun(), divide: fun()} without `match` a step with matches is an error
function steps.carry_out(step, ways) end

---Copies and comparisons of tables, and lists whose items have names.
---For scripts with the line `--@use tables`.
tables = {}

---A copy of a value with everything in it.
---@param value any
---@return any
function tables.copy(value) end

---Whether two values are equal, with everything in them.
---@param a any
---@param b any
---@return boolean
function tables.same(a, b) end

---Whether a list has a value that is equal to this one.
---@param list any[]
---@param value any
---@return boolean
function tables.contains(list, value) end

---Puts an item into the place of its namesake, or at the end. Upper and lower case make no difference.
---@param list table[] items with a name, or names
---@param item table|string
function tables.put(list, item) end

---Adds a name to a list that does not have it yet. Upper and lower case make no difference.
---@param list string[]
---@param name string
function tables.put_once(list, name) end

---Adds a value to a list that does not have it yet.
---@param list any[]
---@param value any
function tables.add(list, value) end

---Shares as whole numbers: what the stable Service has in a list is divided between it and the new version.
---For scripts with the line `--@use weights`.
weights = {}

---Divides what the stable Service has in a list of backends. The sum stays. At 0 % nothing is added: some gateways drop a
---route over a backend that is not ready. Others want to get to know a backend before it has a share (`obj.announce`, or
---`exact` in the description).
---@param step moonshift.Step
---@param services moonshift.Backends
---@param entries table[] changed in place
---@param parts? table[] the entries that have shares, where others of the list have none
---@return boolean added whether the list has more entries now
function weights.divide(step, services, entries, parts) end

---Divides what the stable Service has in every rule of a list.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param rules table[]?
---@param field string the rules' list of backends
function weights.divide_each(step, services, rules, field) end

---Whether an entry of a list leads to the stable Service.
---@param services moonshift.Backends
---@param entries table[]?
---@return boolean
function weights.has_stable(services, entries) end

---What a rule for the new version alone leads to: its entries for those of the stable Service. Other Services have no part in
---it. Of several entries each has what the stable Service's had there.
---@param services moonshift.Backends
---@param entries table[]
---@param alone? number the weight of an entry that is the only one; none where nothing is given
---@return table[]
function weights.canary_entries(services, entries, alone) end

---Services of Consul, as ServiceRouter and ServiceSplitter name them.
---For scripts with the line `--@use consul`.
consul = {}

---What destinations and splits lead to. Without a name, the Service is the one that the object is named after. Where both
---versions share one Service, a subset of a ServiceResolver tells the new one (`params.subset`, else "canary").
---@param step moonshift.Step
---@return moonshift.Backends
function consul.destinations(step) end

---Changes headers of a destination or a split.
---@param holder {requestHeaders?: table}
---@param modifier moonshift.HeaderModifier
function consul.change_headers(holder, modifier) end

---Whether the release has the object of another kind that stands for the same Service.
---@param step moonshift.Step
---@param kind string
---@return boolean
function consul.has_sibling(step, kind) end

---The conditions of Contour's routes: what they mean, and which of two routes wins. The most specific one does, whatever their
---order.
---For scripts with the line `--@use contour`.
contour = {}

---The conditions with another path in the place of their own.
---@param list table[]
---@param path {type: string, value: string}
---@return table[]
function contour.with_path(list, path) end

---Adds a condition; false where it can never hold together with what is there.
---@param list table[]
---@param condition moonshift.Condition
---@return boolean
function contour.add(list, condition) end

---Which of two lists of conditions wins, as `precedence` asks for it.
---@return moonshift.Precedence
function contour.precedence() end

---The words of the Gateway API's routes, which other kinds borrow: backendRefs, matches, and filters that change headers.
---For scripts with the line `--@use gateway_api`.
gateway_api = {}

---Backends of a rule: references to Services, with a weight of 1 where none is written.
---@param step moonshift.Step
---@param headers? fun(entry: table, modifier: moonshift.HeaderModifier) for routes that can change headers for one backend
---@return moonshift.Backends
function gateway_api.backends(step, headers) end

---Puts changes of headers into the filter that is there: a second one of its kind would be refused.
---@param holder {filters?: table[]} a rule, or a backend
---@param modifier moonshift.HeaderModifier
function gateway_api.change_headers(holder, modifier) end

---The matches of a rule, of which one without any has all requests.
---@param rule {matches?: table[]}
---@return table[]
function gateway_api.matches_of(rule) end

---Adds a condition to a match; false where it can never hold together with what is there.
---@param match table
---@param condition moonshift.Condition
---@return boolean
function gateway_api.add(match, condition) end

---A match with one more for each condition of another on top; nil where the two never hold together. Of headers and
---query parameters.
---@param match table changed in place
---@param other table
---@return table?
function gateway_api.joined(match, other) end

---Each of the given matches with an alternative of the step on top; a path of the step takes the place of the match's own.
---@param step moonshift.Step
---@param sources table[]
---@param alternative moonshift.Alternative
---@return table[]
function gateway_api.combined(step, sources, alternative) end

---HTTPRoute, GRPCRoute and kinds with the same rules: copies of whole rules, with guards, within the limits of a route.
---For scripts with the line `--@use gateway_rules`.
gateway_rules = {}

---Whether a rule has a filter that replaces the matched prefix: it wants exactly one match, and that by prefix.
---@param rule {filters?: table[]}
---@return boolean
function gateway_rules.replaces_prefix(rule) end

---Which of two matches of an HTTPRoute wins.
---@return moonshift.Precedence
function gateway_rules.by_specificity() end

---Puts copies of the rules that lead to the stable Service before them, bound to the step's matches, and guards for other
---rules. Alternatives share one rule where they can: a route has few.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param kind moonshift.Precedence which match wins; the rest of it is added here
---@param wanted moonshift.Alternative[]
---@param most integer matches of one rule
function gateway_rules.match(step, services, kind, wanted, most) end

---Destinations of Gloo, as UpstreamGroup, VirtualService and RouteTable have them.
---For scripts with the line `--@use gloo`.
gloo = {}

---Changes headers by the options of a route or of a weighted destination, which are alike.
---@param holder {options?: table}
---@param modifier moonshift.HeaderModifier
function gloo.change_headers(holder, modifier) end

---Weighted destinations; one without a weight has nothing.
---@param step moonshift.Step
---@return moonshift.Backends
function gloo.destinations(step) end

---Ingress classes: annotations of a canary Ingress, and Ingresses that stand beside the owner's.
---For scripts with the line `--@use ingresses`.
ingresses = {}

---Takes away how an owner's annotations choose the new version: that is the step's to say.
---@param annotations table<string, string>
---@param prefix string
function ingresses.clear_canary(annotations, prefix) end

---Annotations of a canary Ingress as ingress-nginx has them, with the step's share.
---@param obj moonshift.IngressObj
---@param kind string what messages call the Ingress
---@param prefix string
---@param headers? boolean the class can change headers
---@return table<string, string>
function ingresses.canary_annotations(obj, kind, prefix, headers) end

---The one header or cookie of a step; an error where there is more.
---@param matches moonshift.Match[]
---@param kind string
---@return moonshift.ValueMatch
function ingresses.one_header(matches, kind) end

---The name of a cookie whose value says always or never; an error where a step asks for another value.
---@param header moonshift.ValueMatch
---@param kind string
---@return string
function ingresses.cookie_name(header, kind) end

---Adds the annotations for one header or cookie, as ingress-nginx has them. An expression is written as it is, which is what it
---has always meant there: it is searched for, so whoever means the whole value says ^ and $.
---@param annotations table<string, string>
---@param kind string
---@param prefix string
---@param header moonshift.ValueMatch
function ingresses.match_header(annotations, kind, prefix, header) end

---Adds the annotations that change headers, as MSE and Higress have them: one header in a line.
---@param annotations table<string, string>
---@param prefix string
---@param modifier? moonshift.HeaderModifier
function ingresses.change_headers(annotations, prefix, modifier) end

---An Ingress for one alternative of the step, to stand beside the owner's: the first is called <name>-canary, the next
---<name>-canary-1. A path of the alternative takes the place of the rules' own.
---@param obj moonshift.IngressObj
---@param kind string
---@param number integer
---@param match? moonshift.Match
---@return table
function ingresses.beside(obj, kind, number, match) end

---The value of an annotation that holds JSON; nil where there is none.
---@param annotations table<string, string>
---@param key string
---@return any
function ingresses.read_json(annotations, key) end

---Matches of Istio's HTTP routes: maps of conditions by the name of a header or a parameter.
---For scripts with the line `--@use istio`.
istio = {}

---An alternative of the step in Istio's words. Header names are lower case on the wire; claims (@…) and :pseudo headers are
---not names.
---@param alternative moonshift.Alternative
---@return table
function istio.match_of(alternative) end

---A rule's own match entries, each with the step's conditions on top; those that can never hold are left out. A path of the
---step takes the place of the rule's own.
---@param source table[]?
---@param wanted table what `match_of` gave
---@return table[]
function istio.combined(source, wanted) end

---Services of Kuma's mesh, as MeshHTTPRoute and MeshTCPRoute name them.
---For scripts with the line `--@use kuma`.
kuma = {}

---References to Services of the mesh, with a weight of 1 where none is written.
---@param step moonshift.Step
---@param headers? string why headers cannot be changed for one backend
---@return moonshift.Backends
function kuma.backends(step, headers) end

---What a rule leads to. Without references of its own that is the target of its list.
---@param rule table
---@param target table
---@return table[]
function kuma.refs_of(rule, target) end

---Divides the stable Service's share of every rule.
---@param step moonshift.Step
---@param services moonshift.Backends
function kuma.divide(step, services) end
