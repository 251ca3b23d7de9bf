"""Releases under real traffic: a gateway, a steady client, Moonshift's own processes in between.

Development only.
"""
