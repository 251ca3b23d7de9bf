"""The label that admission selects workloads by, put on at the admission of a Rollout.

Invariant: it can only fail quietly: the reconciler puts the label on as soon as it sees the Rollout. It is
why the webhook for Rollouts declares a side effect except on dry runs.
"""

import logging

from controller.api.names import WORKLOAD_TYPE
from controller.api.rollout import WorkloadRef
from controller.domain.admission.rollout import workload_type
from controller.errors import MoonshiftError
from controller.kube.client import KubeClient
from controller.kube.resources import DEPLOYMENTS

log = logging.getLogger(__name__)


class KubeMarker:
    """Labels Deployments."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def mark(self, namespace: str, reference: WorkloadRef) -> None:
        """Label the workload, if it is of a kind that is released and exists."""
        kind = workload_type(reference)
        if kind != "deployment" or not reference.name:
            return
        patch = {"metadata": {"labels": {WORKLOAD_TYPE: kind}}}
        try:
            await self._client.merge_patch(DEPLOYMENTS, namespace, reference.name, patch)
        except MoonshiftError as failure:
            log.info(
                "not labelled at admission",
                extra={"deployment": f"{namespace}/{reference.name}", "error": str(failure)},
            )
