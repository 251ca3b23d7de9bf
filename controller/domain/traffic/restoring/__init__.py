"""Removes our part from objects, also if others changed them, in the order that loses no request."""
