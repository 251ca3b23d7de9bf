"""Reads of the cluster for a command, and the connection that they use."""
