"""How pods are moved: one mechanism per kind of workload and style, all behind one Protocol.

Invariant: the code of a release (steps, disturbances, the end) calls the mechanism and never looks at the kind.
"""
