"""What disturbs a release: a rollback, a third revision, a deadline, a lost ReplicaSet, nobody who serves.

Must not know approvals: a disturbance outranks people.
"""
