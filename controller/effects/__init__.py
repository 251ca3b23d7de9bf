"""Carries out actions: one write per action, guarded by the version that was observed. Decides nothing."""
