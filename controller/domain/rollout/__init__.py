"""What happens next to a Rollout: phases, steps, pauses, disturbances, the end. Turns plans into actions."""
