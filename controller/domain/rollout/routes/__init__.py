"""The traffic of a release: the routes of its step, the Services that they name, and versions without ready pods.

Must not move pods, and must not know how a release ends.
"""
