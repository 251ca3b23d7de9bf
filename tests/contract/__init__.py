"""The port to Kubernetes, one suite for two implementations."""
