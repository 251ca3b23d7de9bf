"""How each style moves pods: which mechanism a workload and a style have, and a file for each mechanism.

Must not know people or ends.
"""
