"""The label that admission selects workloads by, put on at the admission of a Rollout.

Invariant: it can only fail quietly: the reconciler puts the label on as soon as it sees the Rollout. It is
why the webhook for Rollouts declares a side effect except on dry runs.
"""

import logging

from controller.api.names import WORKLOAD_TYPE
from controller.api.rollout import WorkloadRef
from controller.api.workload_kinds import workload_kind
from controller.errors import MoonshiftError
from controller.kube.client import KubeClient
from controller.kube.resources import known_workload

log = logging.getLogger(__name__)


class KubeMarker:
    """Labels workloads."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def mark(self, namespace: str, reference: WorkloadRef) -> None:
        """Label the workload, if it is of a known kind and exists."""
        kind = workload_kind(reference.group, reference.kind)
        resource = known_workload(reference.api_version, reference.kind)
        if kind is None or resource is None or not reference.name:
            return
        patch = {"metadata": {"labels": {WORKLOAD_TYPE: kind.label}}}
        try:
            await self._client.merge_patch(resource, namespace, reference.name, patch)
        except MoonshiftError as failure:
            log.info(
                "not labelled at admission",
                extra={"workload": f"{namespace}/{reference.name}", "error": str(failure)},
            )
