"""The end of a release: routes, Services and workload return to their owner in an order that loses no request."""
