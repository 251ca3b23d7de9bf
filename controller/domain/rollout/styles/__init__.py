"""TODO controller/domain/rollout/styles"""
