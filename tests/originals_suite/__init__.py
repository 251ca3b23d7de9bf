"""The end-to-end tests of OpenKruise Rollouts, unmodified, against Moonshift."""
