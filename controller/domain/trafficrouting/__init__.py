"""TrafficRoutings: routes that several Rollouts share while any of them progresses."""
