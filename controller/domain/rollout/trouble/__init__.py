"""TODO controller/domain/rollout/trouble"""
