-- Hold the release where it is.
obj.spec.strategy.paused = true
return obj
