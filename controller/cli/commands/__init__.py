"""One file per command about a Rollout."""
