-- Which of the actions of a Rollout can be taken now.

local spec, status = obj.spec or {}, obj.status or {}
local strategy = spec.strategy or {}
local inner = status.canaryStatus or status.blueGreenStatus or {}
local ours = status.moonshift or {}
local releasing = status.phase == "Progressing"
local paused = strategy.paused == true

local failed = false
for _, run in ipairs(ours.analyses or {}) do
  failed = failed or run.verdict == "Failed" or run.verdict == "Inconclusive"
end

local function offered(can)
  return { ["disabled"] = not can }
end

return {
  ["approve"] = offered(releasing and inner.currentStepState == "StepPaused"),
  ["pause"] = offered(releasing and not paused),
  ["resume"] = offered(paused),
  ["retry"] = offered(failed or (ours.failedTemplate or "") ~= ""),
}
