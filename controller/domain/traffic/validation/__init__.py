"""Checks before anything is written: a script's answer, companion objects, Services."""
