"""A real Kubernetes control plane on one machine, without containers.

Why it exists: tests, benchmarks and the demo need the real API server, controllers and scheduler; nodes and pods are
simulated by KWOK. Invariant: everything is started on 127.0.0.1, ended by the pids that were started, and built from
published Go modules only. The product must never import this package, and this package nothing of the product.
"""
