"""The permission to go on: a person's approval or jump, the verdict of an analysis, a changed plan.

Must not write routes or pods.
"""
