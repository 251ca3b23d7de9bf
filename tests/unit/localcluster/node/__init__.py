"""Rooms of the node that need no node."""
