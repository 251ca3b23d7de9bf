"""Bringing decided facts about: one write per action, guarded by what was looked at. Decides nothing."""
