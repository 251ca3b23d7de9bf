"""Decides the next actions for a Rollout: phases, steps, pauses, disturbances, the end."""
