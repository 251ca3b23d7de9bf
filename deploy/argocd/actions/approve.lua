-- Let the step that waits go on.
local inner = obj.status.canaryStatus or obj.status.blueGreenStatus
if inner and inner.currentStepState == "StepPaused" then
  inner.currentStepState = "StepReady"
end
return obj
