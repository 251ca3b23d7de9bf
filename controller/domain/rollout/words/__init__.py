"""TODO controller/domain/rollout/words"""
