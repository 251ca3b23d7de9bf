"""Queues, workers, leadership and supervision: the machinery under every loop. Knows nothing of Kubernetes."""
