-- Health of a Rollout and of a TrafficRouting (rollouts.kruise.io) for Argo CD: what the conditions Stalled and Ready
-- say, and Suspended while a person is waited for. Without a status, or with one of an earlier spec, it is Progressing.

local function with(status, message)
  return { status = status, message = message or "" }
end

local function condition(status, kind)
  for _, found in ipairs(status.conditions or {}) do
    if found.type == kind then
      return found
    end
  end
  return {}
end

local function plan_of(spec)
  local strategy = spec.strategy or {}
  return strategy, strategy.canary or strategy.blueGreen or {}
end

local function waits_for_approval(spec, status)
  local inner = status.canaryStatus or status.blueGreenStatus or {}
  if inner.currentStepState ~= "StepPaused" then
    return nil
  end
  local _, plan = plan_of(spec)
  local steps = plan.steps or {}
  local index = inner.currentStepIndex or 0
  local step = steps[index]
  if step and step.pause and step.pause.duration then
    return nil
  end
  return "step " .. index .. " of " .. #steps .. " waits for an approval"
end

local meta, spec, status = obj.metadata, obj.spec or {}, obj.status or {}
if meta.deletionTimestamp then
  return with("Progressing", "being deleted")
end
if not status.observedGeneration or status.observedGeneration < (meta.generation or 0) then
  return with("Progressing", "waits for the controller to look at it")
end
local stalled, ready = condition(status, "Stalled"), condition(status, "Ready")
if stalled.status == "True" then
  return with("Degraded", stalled.message)
end
if ready.status == "True" then
  return with("Healthy", status.message)
end
if status.phase == "Progressing" then
  local strategy = plan_of(spec)
  if strategy.paused then
    return with("Suspended", "paused by spec.strategy.paused")
  end
  local waits = waits_for_approval(spec, status)
  if waits then
    return with("Suspended", waits)
  end
end
return with("Progressing", status.message)
