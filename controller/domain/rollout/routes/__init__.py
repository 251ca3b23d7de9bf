"""TODO controller/domain/rollout/routes"""
