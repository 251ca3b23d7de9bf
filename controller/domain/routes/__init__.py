"""Rules that a Rollout's own routes and shared routes have in common."""
