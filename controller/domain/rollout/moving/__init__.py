"""How pods are moved: one mechanism per kind of workload and style, all behind one Protocol.

Invariant: what happens next to a release (steps, disturbances, the end) asks the mechanism and never the kind.
"""
