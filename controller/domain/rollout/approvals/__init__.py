"""TODO controller/domain/rollout/approvals"""
