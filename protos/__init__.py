"""Protocols between the processes, and the modules generated from them (`python -m protos.generate`)."""
