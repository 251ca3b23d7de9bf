"""The vocabulary of a release: its value, its status, its notes, its names. Every other room of a release speaks in it.

Must not decide anything about pods or traffic.
"""
