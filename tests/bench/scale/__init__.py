"""Sizes that few people have on one machine: ten thousand Rollouts, a thousand releases at once, a day of use."""
