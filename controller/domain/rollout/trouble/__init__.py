"""Disturbances of a release: a rollback, a third revision, a deadline, a lost ReplicaSet, pods that serve alone.

Must not know approvals: a disturbance outranks people.
"""
