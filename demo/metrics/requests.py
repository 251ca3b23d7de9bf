"""Requests to the pods of the cluster, as the page of metrics counts them.

Why it exists: the local cluster's pods run no program. Invariant: a revision is served while it has a ready pod, and
its share of errors is that of its image; the product does not get these figures from here.
"""

from collections.abc import Mapping

from demo.world import State, is_ready, labels_of, pods
from localcluster.metric_pages import MetricPage

ERRORS: Mapping[str, float] = {"shop:v1": 0.05, "shop:v2": 0.05, "shop:v3": 0.4, "shop:v4": 0.4}
"""Share of errors of each version."""


def serve(page: MetricPage, state: State) -> None:
    """Count requests of the revisions that have ready pods."""
    page.shares.clear()
    for pod in pods(state):
        if is_ready(pod):
            image = pod["spec"]["containers"][0]["image"]
            page.serve(labels_of(pod)["pod-template-hash"], ERRORS[image])
