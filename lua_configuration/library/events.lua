-- For targets (`--@does target`): an event of a release in words and colours, the same in every messenger.

local events = {}

local GOOD = {ReleaseCompleted = true, AnalysisPassed = true, RoutesAsWritten = true}
local NEWS = {ReleaseStarted = true, ReleaseRestarted = true, Approved = true, Jumped = true, PlanEdited = true,
    ReleaseTakenOver = true, Paused = true, Progressing = true, TrafficRouted = true}
local ENDED = {ReleaseCompleted = true, ReleaseCanceled = true, ReleaseAbandoned = true, RoutesAsWritten = true}
local COLOURS = {good = "2eb886", news = "439fe0", asks = "daa038", bad = "a30200"}

---`good`, `news`, `asks` (somebody has to approve) or `bad`; a reason for which a release is held is bad, too.
---@param event moonshift.Event
---@return "good"|"news"|"asks"|"bad"
function events.level(event)
    local reason = event.reason
    return GOOD[reason] and "good" or NEWS[reason] and "news" or reason == "WaitsForApproval" and "asks" or "bad"
end

---The colour of its level, six hexadecimal digits.
---@param event moonshift.Event
---@return string
function events.colour(event)
    return COLOURS[events.level(event)]
end

---Whether what an earlier event of this release reported is over with this one.
---@param event moonshift.Event
---@return boolean
function events.over(event)
    return ENDED[event.reason] == true
end

---One text for all events of a release: an alert, a thread.
---@param event moonshift.Event
---@return string
function events.key(event)
    return event.namespace .. "/" .. event.rollout .. (event.release and "/" .. event.release or "")
end

---The release in a few words: `web in shop: ReleaseStarted`.
---@param event moonshift.Event
---@return string
function events.title(event)
    return event.rollout .. " in " .. event.namespace .. ": " .. event.reason
end

---Facts beside the message, as names and values: the step, the image, who did it, what to type next.
---@param event moonshift.Event
---@return {name: string, value: string}[]
function events.facts(event)
    local step = event.step and event.steps and event.step .. " of " .. event.steps
    local facts = {}
    for _, pair in ipairs({{"Step", step}, {"Image", event.image}, {"By", event.who}, {"Next", event.next}}) do
        if pair[2] then
            facts[#facts + 1] = {name = pair[1], value = tostring(pair[2])}
        end
    end
    return facts
end

---Message, facts and link as lines of text.
---@param event moonshift.Event
---@return string
function events.text(event)
    local lines = {event.message}
    for _, fact in ipairs(events.facts(event)) do
        lines[#lines + 1] = fact.name .. ": " .. fact.value
    end
    lines[#lines + 1] = event.link
    return table.concat(lines, "\n")
end

---A text without markup, for messengers that read `<…>` as links, mentions or HTML.
---@param text string
---@return string
function events.plain(text)
    return (text:gsub("[&<>]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;"}))
end

return events
