-- Let a release go on that spec.strategy.paused holds.
obj.spec.strategy.paused = nil
return obj
