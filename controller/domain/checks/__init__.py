"""Checks: scripts of a release that say whether it may go on."""
