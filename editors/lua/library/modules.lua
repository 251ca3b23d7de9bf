---@meta modules

-- The script library's modules for the Lua language server. Generated from lua_configuration/library: do not edit, run `make generate`.
-- A script finds a module where its header asks for it: --@use steps, weights

---What a step asks for; made by `steps.of`.
---@class moonshift.Step
---@field obj moonshift.Obj
---@field kind string the name of the object in messages
---@field spec table<string, any> `obj.data.spec`
---@field stable string the stable Service
---@field canary string the new version's Service
---@field namespace? string of the object
---@field params table<string, any>
---@field modifier? moonshift.HeaderModifier
---@field weight number share of the new version, -1 at a step without traffic
---@field matches moonshift.Match[] empty where there are none
---@field found boolean a rule leads to the stable Service
---@field done boolean the step could be carried out on such a rule
---@field seen any[] the values that `routes.first_time` has seen
---@field earlier? table[] the owner's rules before the one that `routes.with_copies` copies
---@field taken? string the rule that has all requests of a copy, which is left out for it; see `shadows.reached`
---@field unserved? string a path of the step that a rule of the stable Service does not serve
---@field without_share? boolean a rule names the stable Service with the weight 0

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
---@field address fun(entry: table): any a value that is equal for two entries that lead to the same backend
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
---@field match_of fun(rule: table): table the part that has the conditions; the function makes the part if it is missing
---@field path_of? fun(match: table): {type: string, value: string} the path of a rule's match
---@field set_path? fun(match: table, path: table, rule: table, own?: table) `own`: the result of `path_of`
---@field add fun(match: table, condition: moonshift.Condition): boolean false if the conditions can never hold together
---@field shadows? moonshift.Shadows how to know that an earlier rule has all requests of a copy
---@field told_apart_by? fun(rule: table, source: table): any the value that distinguishes two copies: the second copy with an equal value is left out; the match if the function is left out
---@field finish? fun(rule: table, number: integer, before: integer) lets the copy lead to the new version

---What an inverted condition excludes: every value, this value or expression, or values that begin so.
---@class moonshift.Denied
---@field all? boolean
---@field value? string
---@field regex? boolean
---@field prefix? string

---How matches are compared of which the first that fits wins; see `shadows.reached`.
---@class moonshift.Shadows
---@field form? fun(match: table): table a match as it is compared
---@field fields table<string, "all"|"any"|"nothing"|"never"> the fields of a match: conditions that hold together, values of which one holds, no condition beside the path, or one for which nothing is certain; others must be equal
---@field path_of fun(match: table): {type: string, value: string, any_case?: boolean}
---@field matches_of fun(rule: table): table[] empty if the rule may leave requests to later rules
---@field leads_to fun(rule: table): string? what a rule leads to, for messages

---A kind for `routes.carry_out`.
---@class moonshift.OrdinaryKind: moonshift.CopyWays
---@field rules string
---@field backends string
---@field can? string
---@field alone? number

---Which match wins, and how rules are copied; see `precedence.with_copies`.
---@class moonshift.Precedence
---@field path_of fun(match: table): {type: string, value: string}
---@field rank fun(match: table): (number|string)[] the values that decide, in this order: the higher number wins, or the text that is first in the alphabet
---@field size fun(match: table): number the number of conditions in addition to the path
---@field joined fun(known: moonshift.KnownMatch, made: moonshift.KnownMatch): table? the conditions of both matches; nil if they can never hold together
---@field shadows? moonshift.Shadows how to know that a rule has all requests of a copy; a kind without it has no two rules with one match
---@field unique? boolean true if no match may be there twice: a copy with the match of its source takes the place of it
---@field with_matches? fun(rule: table, matches: table[]): table a copy of a rule with other matches, for unique kinds whose rules have several
---@field unordered? boolean true if either of two equal ranks may win; otherwise the first rule wins
---@field is_ours? fun(rule: table): boolean
---@field matches_of? fun(rule: table): table[]
---@field replaces_prefix? fun(rule: table): boolean
---@field combined? fun(rule: table, source: table, alternative: moonshift.Alternative): table? the match with an alternative of the step in addition; nil if no request fits both
---@field copies? fun(rule: table, matches: table[], bases: table[]): table[] `bases`: for each match the one of the rule from which it was made

---@class moonshift.KnownMatch
---@field index integer place of the rule
---@field match table
---@field ours boolean
---@field place {type: string, value: string} the path of the match
---@field replaces? boolean the rule replaces the matched prefix

---How a kind names the Service of an entry in its lists of backends.
---For scripts with the line `--@use backends`.
backends = {}

---Backends that name a Service in a field, made from a description. A field that the description omits is not used:
---
---* `name`: the field with the Service's name; `port`: the field with its port, if one list may name a Service twice
---* `namespace`: the field with a namespace; an entry of another namespace is not the Service
---* `kinds`, `groups`: the allowed values of the entry's `kind` and `group`; an entry may always omit them
---* `only`: a function that says whether an entry is a backend at all
---* `drop`: fields that belong only to the old version
---* `without_weight`: the weight of an entry that has none: a number, or a function of the list
---* `most`: the greatest weight that the kind accepts
---* `exact`: the new version is also named at 0 %; weights grow only if a share is not a whole number; a weight may be 0
---* `headers`: a function `(entry, modifier)` that changes the headers of requests to one entry, or a text why it cannot
---* `is_stable`, `canary`, `address`: functions of an entry, for kinds that name Services differently: whether the entry
---  leads to the stable Service; a copy, without a weight, that leads to the new version; a text that is equal for two
---  entries that lead to the same backend
---@param step moonshift.Step
---@param description moonshift.BackendDescription
---@return moonshift.Backends
function backends.of(step, description) end

---The weight of an entry without one, for kinds in which several entries without weights share equally, but an entry
---without a weight beside others with weights gets nothing. Use it as `without_weight`.
---@param entries table[]
---@return number
function backends.even_or_nothing(entries) end

---The matches of a step as conditions, in one form for headers, query parameters, cookies and methods; and as regular
---expressions for gateways that need them.
---For scripts with the line `--@use conditions`.
conditions = {}

---The step's matches. One of the alternatives has to hold, with all of its conditions. A condition has `what`
---(header, query, cookie or method), `name`, `value`, and `regex` if the value is an expression; a path has `type` and
---`value`. A condition that the kind cannot match is an error with a message.
---@param step moonshift.Step
---@param can string words of `--@can`: header, header-regex, query, cookie, method, path
---@return moonshift.Alternative[]
function conditions.wanted(step, can) end

---Name and value of the cookie that a match on `canary-by-cookie` means: `name=value`; a name alone means the cookie
---with the value "always".
---@param text string
---@return string name
---@return string value
function conditions.cookie(text) end

---A regular expression that matches exactly this text.
---@param text string
---@return string
function conditions.escape(text) end

---A cookie as an expression for the header that contains all cookies.
---@param condition moonshift.Condition
---@param ends? boolean for gateways that search: the expression need not match the whole header
---@return string
function conditions.cookie_pattern(condition, ends) end

---A condition as an expression that matches the whole value, for gateways that search in the value.
---@param condition moonshift.Condition|{value: string, regex: boolean}
---@return string
function conditions.whole(condition) end

---The condition for a gateway without conditions on cookies: a condition on the header that contains all cookies.
---@param condition moonshift.Condition
---@return moonshift.Condition
function conditions.cookie_as_header(condition) end

---Whether a condition can never hold beside an inverted one for the same name: that excludes every value, this value, or
---a beginning of it.
---@param denied? moonshift.Denied
---@param condition {value: string, regex?: boolean}
---@return boolean
function conditions.excluded(denied, condition) end

---Adds a condition to a list of named conditions, unless it is there; false if it can never hold together with one of them.
---@param list moonshift.NameValue[]
---@param condition moonshift.Condition
---@param form {exact: (fun(known: table): string?), write: (fun(condition: moonshift.Condition): table),
---  denied?: fun(known: table): moonshift.Denied?} `exact`: the value
---  where an item asks for exactly one; `write`: a new item; `denied`: what an inverted item excludes, or nil
---@return boolean
function conditions.add(list, condition, form) end

---Keeps only one method in `holder.methods`; false if the method was not in the list.
---@param holder {methods?: string[]}
---@param method string
---@return boolean
function conditions.only_method(holder, method) end

---Annotations of an Ingress that are about a backend by its name, and those with JSON.
---For scripts with the line `--@use named_annotations`.
named_annotations = {}

---Copies the annotations about a backend's name (`<prefix><field>.<name>`) to another name, except for the
---fields that are left out.
---@param annotations table<string, string>
---@param prefix string
---@param from string
---@param to string
---@param without? table<string, boolean> fields
function named_annotations.carry_named(annotations, prefix, from, to, without) end

---The keys of annotations about a backend, `<prefix><field>.<name>`, in order.
---@param annotations table<string, string>
---@param prefix string
---@param name string
---@return string[]
function named_annotations.about(annotations, prefix, name) end

---The value of an annotation that contains JSON; nil if there is none.
---@param annotations table<string, string>
---@param key string
---@param names? string[] names of fields that the annotation's reader compares without regard to case, as Go programs do
---@return any
function named_annotations.read_json(annotations, key, names) end

---For kinds whose routes refer to backends by their own names, and which declare these backends elsewhere in the object:
---the new version gets a copy of each backend of the stable Service.
---For scripts with the line `--@use named_backends`.
named_backends = {}

---Looks through the declared backends. For each backend of the stable Service there is one of the new version: the
---declared one if there is one, otherwise a copy called `<name>-canary`.
---@param step moonshift.Step
---@param declared table[]?
---@param fields {service: string, port: string, noun: string, longest?: integer, only?: fun(backend: table): boolean} where a
---  backend has its Service and its port, its name in messages, the most letters of a name, and whether it leads to a
---  Service at all
---@return table<string, string> twins names of the stable Service's backends: for each, the new version's backend
---@return table[] complete the declared backends with the copies
function named_backends.with_copies(step, declared, fields) end

---Paths of other Services that win over the stable Service's paths, because they are more specific. If a gateway evaluates
---conditions before paths and hosts, an Ingress with conditions would take their requests; so it repeats these paths.
---For scripts with the line `--@use other_paths`.
other_paths = {}

---Adds those paths to an Ingress beside the owner's, with their own backends.
---@param obj moonshift.IngressObj
---@param ingress table
function other_paths.keep(obj, ingress) end

---Paths of rules and of steps: what two of them have in common, and what becomes of a rule's rewrite for a part of its path.
---
---A path has `type` and `value`. A PathPrefix is one of whole elements: /a has /a and /a/b, not /ab. A Text is a prefix of
---letters, for gateways that compare so. An expression fits the whole path. Wildcards are an exact path with :names, {names}
---or * in it. A path with `any_case` is compared without regard to case.
---For scripts with the line `--@use paths`.
paths = {}

---The path that a rule has under one of several keys; without one of them it is everything.
---@param holder table
---@param keys table<string, string> the key of each type
---@param everything "Text"|"PathPrefix" the type of everything
---@param any_case? boolean the rule compares without regard to case
---@return {type: string, value: string, any_case?: boolean}
function paths.of(holder, keys, everything, any_case) end

---Lets the prefixes of a step's alternatives be texts, for gateways that compare letters.
---@param wanted moonshift.Alternative[]
---@return moonshift.Alternative[]
function paths.by_letters(wanted) end

---Whether it is certain that no request fits both paths.
---@param own {type: string, value: string}
---@param wanted {type: string, value: string}
---@return boolean
function paths.apart(own, wanted) end

---Whether it is certain that every request of the one path fits the other.
---@param inner {type: string, value: string}
---@param outer {type: string, value: string}
---@return boolean
function paths.inside(inner, outer) end

---The path of the requests that fit both paths: one of the two; nil if there can be none. An error if an expression
---does not let it be said.
---@param own {type: string, value: string} a rule's path
---@param wanted? {type: string, value: string} a step's path
---@return {type: string, value: string}?
function paths.common(own, wanted) end

---The same for a rule of the stable Service. The step remembers a path that is not the rule's: if no rule has it, that is
---an error when the step is carried out.
---@param step moonshift.Step
---@param own {type: string, value: string}
---@param wanted? {type: string, value: string}
---@return {type: string, value: string}?
function paths.served(step, own, wanted) end

---The text that takes the place of a rule's prefix for a part of its path, so that requests reach the Service under the same path
---as before: longer by what the part has more.
---@param replacement string
---@param own {type: string, value: string} the rule's path
---@param part {type: string, value: string}
---@return string
function paths.replacement(replacement, own, part) end

---For gateways in which the most specific rule wins, not the first: other rules keep their requests.
---
---A copy of a rule may win over a rule that won over the copied rule. Such a rule gets a guard: a copy of itself with the
---conditions of the first copy in addition to its own, and with its own backends. So of several rules of the stable Service
---a request's copy is that of the rule which serves the request today, with its filters.
---For scripts with the line `--@use precedence`.
precedence = {}

---The rules, with copies of the stable Service's rules before them, and with guards before other rules.
---@param step moonshift.Step
---@param kind moonshift.Precedence which match wins, and how a rule is copied
---@param rules table[]
---@param wanted moonshift.Alternative[]
---@return table[]
function precedence.with_copies(step, kind, rules, wanted) end

---Rules only for the new version: copies of the rules that lead to the stable Service, with the step's matches.
---For scripts with the line `--@use routes`.
routes = {}

---Whether a value is seen for the first time at this step: a copy that an earlier rule got is not made again.
---@param step moonshift.Step
---@param value any
---@return boolean
function routes.first_time(step, value) end

---Whether requests reach a copy with this match, as far as the rules before it are concerned.
---@param step moonshift.Step
---@param kind moonshift.Shadows
---@param match table
---@return boolean
function routes.reached(step, kind, match) end

---Copies of one rule, one for each alternative of the step that can hold together with the rule's own conditions.
---A copy that was already made for another rule is left out, and with `shadows` one of which an earlier rule has all
---requests. With `path_of`, a copy has what the rule's path and the step's have in common, and there is none if that is
---nothing; without it, the step's path takes the place of the rule's.
---@param step moonshift.Step
---@param rule table
---@param wanted moonshift.Alternative[]
---@param ways moonshift.CopyWays
---@return table[]
function routes.copies(step, rule, wanted, ways) end

---The rules with their copies, each copy directly before the rule from which it was made.
---@param step moonshift.Step
---@param rules table[]?
---@param is_ours fun(rule: table): boolean whether a rule leads to the stable Service
---@param copies_of fun(rule: table): table[]
---@return table[]
function routes.with_copies(step, rules, is_ours, copies_of) end

---Carries the step out on an ordinary kind: `spec` has a list of rules, each rule has a list of backends, and the first rule
---that fits wins. `rules` and `backends` are the names of the two lists, `can` the words of `--@can` about matches; without it
---a step with matches is an error. The other fields say how a copy of a rule gets an alternative's conditions, as in
---`routes.copies`; a copy leads only to the new version, with the weight `alone` if it is given.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param kind moonshift.OrdinaryKind
function routes.carry_out(step, services, kind) end

---Copies that no request can reach, for gateways in which the first rule that fits wins: a rule before them takes all of
---their requests. The gateway accepts such a copy, and the new version would be judged without any request.
---
---A copy is reported only if no request can reach it for certain: a copy that several rules shadow together is kept.
---For scripts with the line `--@use shadows`.
shadows = {}

---Whether it is certain that every request of a copy's match fits an earlier match.
---@param kind moonshift.Shadows
---@param outer table
---@param inner table
---@return boolean
function shadows.covers(kind, outer, inner) end

---The entry to which a rule leads: the first one that gets requests.
---@param entries table[]?
---@return table
function shadows.main_of(entries) end

---Lets the step remember that a rule of the owner has all requests of a copy. The first such rule is reported.
---@param step moonshift.Step
---@param kind moonshift.Shadows
---@param number integer place of the rule
---@param rule table
function shadows.remember(step, kind, number, rule) end

---Whether requests may reach a copy with this match behind the rules before it. If not, the step remembers the rule that
---takes them: if no copy is left, that is an error when the step is carried out.
---@param step moonshift.Step
---@param kind moonshift.Shadows
---@param earlier table[] the owner's rules that come before the copy
---@param match table
---@return boolean
function shadows.reached(step, kind, earlier, match) end

---The error for a step of which no copy is left, if a rule takes the requests.
---@param step moonshift.Step
function shadows.check(step) end

---Arithmetic of shares: percentages as whole numbers with an unchanged sum.
---For scripts with the line `--@use shares`.
shares = {}

---Whole numbers with the sum `total`, as close to the given parts as possible.
---@param parts number[] shares of 1
---@param total number
---@param least? number the least number for a part above 0, else 1; always 0 if `total` is below the number of parts
---@return number[]
function shares.largest_remainder(parts, total, least) end

---The factor for the weights of a list, so that they can express the step's share. `params.scale` has precedence.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param total number the weights of the stable Service and the new version together
---@param sum number the weights of all entries together
---@return number
function shares.scale_for(step, services, total, sum) end

---The conditions of Skipper's routes: their meaning, and which of two routes wins. The tree of paths decides first, then the
---number of conditions; the order of routes has no effect.
---For scripts with the line `--@use skipper`.
skipper = {}

---A predicate or a filter: a name with text arguments.
---@param name string
---@param texts string[]
---@return string
function skipper.call(name, texts) end

---The conditions of a route, without its backends.
---@param route table
---@return table
function skipper.match_of(route) end

---The match with a step's path in addition; nil if no request fits both.
---@param step moonshift.Step
---@param match table
---@param path? {type: string, value: string}
---@return table?
function skipper.narrowed(step, match, path) end

---Adds a condition; false if it can never hold together with the others.
---@param match table
---@param condition moonshift.Condition
---@return boolean
function skipper.add(match, condition) end

---Which of two matches wins, in the form that `precedence` needs. With equal numbers of conditions, either may win.
---@return moonshift.Precedence
function skipper.precedence() end

---A step, and the way in which a script carries it out: by its matches, or by its share of the traffic.
---For scripts with the line `--@use steps`.
steps = {}

---A step, in the form that the other modules need. An error if both versions share one Service, unless the kind can
---distinguish them.
---@param obj moonshift.Obj
---@param kind? string the name of the object in messages; its kind if it is left out
---@param one_service? boolean the kind can distinguish the versions of one Service
---@return moonshift.Step
function steps.of(obj, kind, one_service) end

---Whether a reference's namespace is the object's own; a reference without a namespace means the object's namespace.
---@param step moonshift.Step
---@param namespace string?
---@return boolean
function steps.here(step, namespace) end

---An error if the step's share is not a whole percentage.
---@param step moonshift.Step
function steps.only_whole_percents(step) end

---Carries the step out: `match` for its matches, `divide` for its share. Matches have precedence over a share; with
---`params.both` both are carried out. The two functions set `step.found` if a rule leads to the stable Service, and
---`step.done` if the step could be carried out on such a rule. If one of them is not set, that is an error.
---@param step moonshift.Step
---@param ways {match?: fun(), divide: fun()} without `match` a step with matches is an error
function steps.carry_out(step, ways) end

---Subsets of the stable Service: those with pods of the release, and those of other workloads, which keep what they have.
---For scripts with the line `--@use subsets`.
subsets = {}

---The subsets of the stable Service that have pods of the release: those that `params.stableSubset` names, or those whose
---labels the stable pods have, or the only one. An error if that is not known, or if no destination is left.
---@param step moonshift.Step
---@param names string[] the subsets that the object names, without that of the new version
---@param whole boolean the object also names the Service without a subset
---@param labels_of fun(name: string): table? the labels of a subset; nil if they are not known
---@param remedy? string what makes them known
---@return table<string, boolean>
function subsets.of_release(step, names, whole, labels_of, remedy) end

---The value of a field on which all subsets with stable pods agree; nil if they do not. If the labels of the pods are not
---known, all subsets have to agree.
---@param step moonshift.Step
---@param list table[] subsets with labels
---@param field string
---@return any value
---@return boolean agree
function subsets.common(step, list, field) end

---Tags that choose pods, as Kuma has them: those that the mesh adds itself are left out.
---@param tags table<string, string>?
---@return table<string, string>
function subsets.own_tags(tags) end

---Tags as a text, which is the name of their subset; empty for none.
---@param tags table<string, string>?
---@return string
function subsets.name_of_tags(tags) end

---The same as `of_release` for kinds whose entries choose pods by tags: a function that says whether an entry has pods of the
---release.
---@param step moonshift.Step
---@param entries table[] the entries that lead to the stable Service
---@param tags_of fun(entry: table): table? the tags of an entry
---@return fun(entry: table): boolean
function subsets.of_release_by_tags(step, entries, tags_of) end

---Copies and comparisons of tables, and lists whose items have names.
---For scripts with the line `--@use tables`.
tables = {}

---A deep copy of a value. It is written like the value: an empty list stays a list, nulls in lists stay.
---@param value any
---@return any
function tables.copy(value) end

---Whether two values are deeply equal.
---@param a any
---@param b any
---@return boolean
function tables.same(a, b) end

---Whether a list has a value that is equal to this one.
---@param list any[]
---@param value any
---@return boolean
function tables.contains(list, value) end

---Replaces the item with the same name, or appends the item. Upper and lower case make no difference.
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

---Shares as whole numbers: divides the stable Service's weight in a list between it and the new version.
---For scripts with the line `--@use weights`.
weights = {}

---Divides the stable Service's weight in a list of backends. The sum does not change. At 0 % nothing is added: some
---gateways drop a route if a backend is not ready. Other kinds must name a backend before it has a share (`obj.announce`,
---or `exact` in the description).
---@param step moonshift.Step
---@param services moonshift.Backends
---@param entries table[] changed in place
---@param parts? table[] the entries that have shares, where others of the list have none
---@return boolean added whether the list has more entries now
function weights.divide(step, services, entries, parts) end

---Divides the stable Service's weight in every rule of a list.
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

---Whether the stable Service serves requests of a rule today: an entry of the list leads to it, with a weight above 0. Only
---then does a copy of the rule for the new version take no requests of others.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param entries table[]?
---@return boolean
function weights.has_share(step, services, entries) end

---The backends of a rule only for the new version: its entries in place of the stable Service's. Other Services get no
---share. If there are several entries, each has the weight of the stable Service's entry.
---@param services moonshift.Backends
---@param entries table[]
---@param alone? number the weight of an entry that is the only one; if it is left out, such an entry has no weight
---@return table[]
function weights.canary_entries(services, entries, alone) end

---Services of Consul, as ServiceRouter and ServiceSplitter name them.
---For scripts with the line `--@use consul`.
consul = {}

---The backends in destinations and splits. An entry without a name means the Service after which the object is named. If
---both versions share one Service, a subset of a ServiceResolver is the new version (`params.subset`, else "canary"). Of
---several other subsets, those with pods of the release are in `params.stableSubset`: a resolver's filters are not known here.
---@param step moonshift.Step
---@param entries table[] all destinations or splits of the object
---@return moonshift.Backends
function consul.destinations(step, entries) end

---Changes headers of a destination or a split.
---@param holder {requestHeaders?: table}
---@param modifier moonshift.HeaderModifier
function consul.change_headers(holder, modifier) end

---Whether the release also names the object of another kind for the same Service.
---@param step moonshift.Step
---@param kind string
---@return boolean
function consul.has_sibling(step, kind) end

---The conditions of Contour's routes: their meaning, and which of two routes wins. The most specific route wins, whatever the
---order.
---For scripts with the line `--@use contour`.
contour = {}

---The conditions with another path in place of their own; a path that is the same stays where it is. The path is the last of
---them: Contour takes an exact path that is not the last condition for a prefix.
---@param list table[]
---@param path {type: string, value: string}
---@return table[]
function contour.with_path(list, path) end

---Adds a condition; false if it can never hold together with the others.
---@param list table[]
---@param condition moonshift.Condition
---@return boolean
function contour.add(list, condition) end

---Which of two lists of conditions wins, in the form that `precedence` needs.
---@return moonshift.Precedence
function contour.precedence() end

---The fields of the Gateway API's routes, which other kinds also have: backendRefs, matches, and filters that change headers.
---For scripts with the line `--@use gateway_api`.
gateway_api = {}

---Backends of a rule: references to Services; the default weight is 1.
---@param step moonshift.Step
---@param headers? fun(entry: table, modifier: moonshift.HeaderModifier) for routes that can change headers for one backend
---@return moonshift.Backends
function gateway_api.backends(step, headers) end

---Adds changes of headers to the existing filter: a second filter of its kind would be refused.
---@param holder {filters?: table[]} a rule, or a backend
---@param modifier moonshift.HeaderModifier
function gateway_api.change_headers(holder, modifier) end

---The matches of a rule; a rule without matches gets all requests.
---@param rule {matches?: table[]}
---@return table[]
function gateway_api.matches_of(rule) end

---Adds a condition to a match; false if it can never hold together with the others.
---@param match table
---@param condition moonshift.Condition
---@return boolean
function gateway_api.add(match, condition) end

---A match with each header and query condition of another match in addition; nil if the two can never hold
---together.
---@param match table changed in place
---@param other table
---@return table?
function gateway_api.joined(match, other) end

---The path of a match; without one it is everything.
---@param match table
---@return {type: string, value: string}
function gateway_api.path_of(match) end

---A copy of a match with another path; a path that is the same stays as it was written.
---@param match table
---@param path {type: string, value: string}
---@return table
function gateway_api.with_path(match, path) end

---Which rules have all requests of a copy, in the form that `shadows` needs.
---@return moonshift.Shadows
function gateway_api.shadows() end

---A match of the stable Service's rule with an alternative of the step in addition; nil if no request fits both.
---@param step moonshift.Step
---@param source table
---@param alternative moonshift.Alternative
---@return table?
function gateway_api.combined(step, source, alternative) end

---HTTPRoute, GRPCRoute and kinds with the same rules: copies of whole rules, with guards, within the limits of a route.
---For scripts with the line `--@use gateway_rules`.
gateway_rules = {}

---Whether a rule has a filter that replaces the matched prefix: such a rule must have exactly one match, by prefix.
---@param rule {filters?: table[]}
---@return boolean
function gateway_rules.replaces_prefix(rule) end

---Lets the filters of a rule replace as much of a path as before, now that the rule matches only a part of its path.
---@param rule {filters?: table[]} changed in place
---@param base table the match as it was
---@param match table
function gateway_rules.keep_paths(rule, base, match) end

---Which of two matches of an HTTPRoute wins.
---@return moonshift.Precedence
function gateway_rules.by_specificity() end

---Puts copies of the stable Service's rules before them, with the step's matches, and guards for other rules.
---Alternatives share one rule if possible, because a route may have only few rules.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param kind moonshift.Precedence which match wins; the rest of it is added here
---@param wanted moonshift.Alternative[]
---@param most integer matches of one rule
function gateway_rules.match(step, services, kind, wanted, most) end

---Destinations of Gloo, as UpstreamGroup, VirtualService and RouteTable have them.
---For scripts with the line `--@use gloo`.
gloo = {}

---Changes headers in the options of a route or of a weighted destination, which have the same fields.
---@param holder {options?: table}
---@param modifier moonshift.HeaderModifier
function gloo.change_headers(holder, modifier) end

---Weighted destinations; a destination without a weight gets nothing.
---@param step moonshift.Step
---@return moonshift.Backends
function gloo.destinations(step) end

---Ingress classes: annotations of a canary Ingress, and additional Ingresses beside the owner's.
---For scripts with the line `--@use ingresses`.
ingresses = {}

---Removes the annotations with which an owner chooses the new version: the step decides that.
---@param annotations table<string, string>
---@param prefix string
function ingresses.clear_canary(annotations, prefix) end

---Annotations of a canary Ingress in the form of ingress-nginx, with the step's share.
---@param obj moonshift.IngressObj
---@param kind string the name of the Ingress in messages
---@param prefix string
---@param headers? boolean the class can change headers
---@return table<string, string>
function ingresses.canary_annotations(obj, kind, prefix, headers) end

---The only header or cookie of a step; an error if there are more conditions.
---@param matches moonshift.Match[]
---@param kind string
---@return moonshift.ValueMatch
function ingresses.one_header(matches, kind) end

---The name of a cookie with the values `always` and `never`; an error if a step asks for another value.
---@param header moonshift.ValueMatch
---@param kind string
---@return string
function ingresses.cookie_name(header, kind) end

---Adds the annotations for one header or cookie, in the form of ingress-nginx. An expression is written as it is: the
---gateway searches for it in the value, so the author writes ^ and $ to match the whole value.
---@param annotations table<string, string>
---@param kind string
---@param prefix string
---@param header moonshift.ValueMatch
function ingresses.match_header(annotations, kind, prefix, header) end

---Adds the annotations that change headers, in the form of MSE and Higress: one header on each line.
---@param annotations table<string, string>
---@param prefix string
---@param modifier? moonshift.HeaderModifier
function ingresses.change_headers(annotations, prefix, modifier) end

---A copy of an entry of an Ingress's paths for what it has in common with a step's path; nil if that is nothing, or if a
---more specific entry of the host serves it.
---@param step moonshift.Step|{unserved?: string}
---@param kind string
---@param entry table
---@param path? {type: string, value: string} the step's
---@param all table[] all entries of the host
---@return table?
---@return table? other the more specific entry
function ingresses.narrowed(step, kind, entry, path, all) end

---An additional Ingress for one alternative of the step: the first is called <name>-canary, the next
---<name>-canary-1. Its paths are what the alternative's path and the Ingress's own have in common; nil if that is nothing.
---@param obj moonshift.IngressObj
---@param kind string
---@param number integer
---@param match? moonshift.Match
---@param rewrites? table<string, string|false> annotations that let the upstream's path depend on the Ingress's, each with the
---  value that leaves paths as they are where the Ingress's own path is /, or false
---@return table?
function ingresses.beside(obj, kind, number, match, rewrites) end

---An error if no additional Ingress could be made for any alternative of the step.
---@param obj moonshift.IngressObj
---@param kind string
---@param objects table[]
function ingresses.check_served(obj, kind, objects) end

---Matches of Istio's HTTP routes: maps of conditions by the name of a header or a parameter.
---For scripts with the line `--@use istio`.
istio = {}

---The text behind the Service's name in a host: nothing, or a namespace with or without more; nil if the host is not the
---Service. Without a namespace given, the first label decides.
---@param host any
---@param service string
---@param namespace string?
---@return string?
function istio.suffix_of(host, service, namespace) end

---An alternative of the step in Istio's fields, with its path as it is. Header names are written in lower case; claims (@…)
---and :pseudo headers keep their case. There is one condition for a header and for a parameter: a second one is an error.
---@param alternative moonshift.Alternative
---@return table
function istio.match_of(alternative) end

---Which of the rules before a copy takes its requests, in the form that `shadows` needs.
---@return moonshift.Shadows
function istio.shadows() end

---A rule's own match entries, each with the step's conditions in addition; an entry that no request could match is left out.
---@param step moonshift.Step
---@param source table[]?
---@param wanted table the result of `match_of`
---@return {match: table, own: table, part: table}[] entries, each with its path before and now
function istio.combined(step, source, wanted) end

---The subsets of the stable Service in the routes that have pods of the release, by name.
---@param step moonshift.Step
---@param canary? string the subset of the new version, where both versions share one Service
---@return table<string, boolean>
function istio.subsets_of_release(step, canary) end

---Services of Kuma's mesh, as MeshHTTPRoute and MeshTCPRoute name them.
---For scripts with the line `--@use kuma`.
kuma = {}

---The backends of a rule. A rule without references has the target of its list.
---@param rule table
---@param target table
---@return table[]
function kuma.refs_of(rule, target) end

---References to Services of the mesh; the default weight is 1.
---@param step moonshift.Step
---@param headers? string why headers cannot be changed for one backend
---@return moonshift.Backends
function kuma.backends(step, headers) end

---Divides the stable Service's share in every rule.
---@param step moonshift.Step
---@param services moonshift.Backends
function kuma.divide(step, services) end

---For targets (`--@does target`): an event of a release in words and colours, the same in every messenger.
---For scripts with the line `--@use events`.
events = {}

---`good`, `news`, `asks` (somebody has to approve) or `bad`; a reason for which a release is held is bad, too.
---@param event moonshift.Event
---@return "good"|"news"|"asks"|"bad"
function events.level(event) end

---The colour of its level, six hexadecimal digits.
---@param event moonshift.Event
---@return string
function events.colour(event) end

---Whether what an earlier event of this release reported is over with this one.
---@param event moonshift.Event
---@return boolean
function events.over(event) end

---One text for all events of a release: an alert, a thread.
---@param event moonshift.Event
---@return string
function events.key(event) end

---The release in a few words: `web in shop: ReleaseStarted`.
---@param event moonshift.Event
---@return string
function events.title(event) end

---Facts beside the message, as names and values: the step, the image, who did it, what to type next.
---@param event moonshift.Event
---@return {name: string, value: string}[]
function events.facts(event) end

---Message, facts and link as lines of text.
---@param event moonshift.Event
---@return string
function events.text(event) end

---A text without markup, for messengers that read `<…>` as links, mentions or HTML.
---@param text string
---@return string
function events.plain(text) end

---For scripts that ask (`--@does source`, `check`, `target`): what an answer says, which value of a series counts, when to ask
---again, and times as texts. Messages name the service that was asked.
---For scripts with the line `--@use exchange`.
exchange = {}

---The beginning of a text that somebody limits; characters stay whole.
---@param text string
---@param most integer bytes
---@return string
function exchange.short(text, most) end

---The text of an answer with a status from 200 to 299; any other status is an error with the service's own first words.
---@param answer moonshift.Answer
---@param who string the service, for messages
---@return string
function exchange.accept(answer, who) end

---The decoded JSON of such an answer. A null in a list is `json.null`, so no item changes its place; a member of an object that
---is null is absent.
---@param answer moonshift.Answer
---@param who string
---@return any
function exchange.read(answer, who) end

---An error of a service inside an answer that is good by its status.
---@param who string
---@param said any a text, or a table that has a message somewhere
function exchange.fail(who, said) end

---A number, of a number or of a text; nil for null, a gap, or anything that is no finite number.
---@param value any
---@return number?
function exchange.number(value) end

---The only item of a list, or nil if it is empty; an error if there are more.
---@param list any[]?
---@param who string
---@return any
function exchange.one(list, who) end

---The only value of a row with names, as a number; names that begin with `_` do not count. An error if there are more.
---@param row table<string, any>?
---@param who string
---@return number?
function exchange.cell(row, who) end

---The newest value of a series from old to new, as a source answers it. Gaps are left out, and so is the newest point, which
---is still being filled, unless it is the only one.
---@param points any[]?
---@param key? string|integer where a point has its value; left out if a point is a value
---@return moonshift.Measured
function exchange.newest(points, key) end

---The value in an answer of a service with the query API of Prometheus.
---@param answer moonshift.Answer
---@param who string
---@return moonshift.Measured
function exchange.vector(answer, who) end

---Sends a request after a while, for something that is not ready yet.
---@param request moonshift.Request
---@param seconds number
---@param state? table what the next turn has to know
---@return moonshift.Asking
function exchange.later(request, seconds, state) end

---The answer of a target: sent, or again after the time that the service names; any other status is an error.
---@param answer moonshift.Answer
---@param who string
---@return moonshift.Told
function exchange.sent(answer, who) end

---A time as RFC 3339 writes it, in UTC: `2023-11-14T22:13:20Z`.
---@param seconds number since 1970
---@return string
function exchange.time(seconds) end
