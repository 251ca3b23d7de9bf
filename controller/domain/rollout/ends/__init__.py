"""TODO controller/domain/rollout/ends"""
