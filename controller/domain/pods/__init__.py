"""Arithmetic of pods: batch sizes, readiness, labels, and the pacing of a Deployment. Returns plans, never actions."""
