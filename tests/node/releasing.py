"""A release of real pods: the commands that a person types, and the objects to look at.

Why it exists: several tests of this ring release the same application and differ in its pods. Invariant: waiting is
`kubectl wait`, so no object is looked at too early. It must not judge.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from localcluster.node.plane import NodePlane
from tests.node import apps

NAME = "web"
SECONDS = "--timeout=140s"


def rollout(
    workload: Mapping[str, str] | None = None, replicas: Sequence[int | str] = (1, 2, 3)
) -> dict[str, Any]:
    """Return a Rollout of steps that each wait for a person."""
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME}
    steps: list[dict[str, Any]] = [{"replicas": count, "pause": {}} for count in replicas]
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": NAME},
        "spec": {
            "workloadRef": dict(workload or reference),
            "strategy": {"canary": {"steps": steps}},
        },
    }


class Release:
    """One application in a namespace, and its Rollout, both named `web`."""

    def __init__(self, node: NodePlane, namespace: str, workload: str = "deployment/web") -> None:
        self._node = node
        self._where = ("-n", namespace)
        self._workload = workload

    async def install(self, *objects: Mapping[str, Any]) -> None:
        """Apply the objects, a Rollout among them, and wait until it is ready."""
        await self.apply(*objects)
        await self.wait("rollout/web", "condition=Ready")

    async def apply(self, *objects: Mapping[str, Any]) -> None:
        """Apply objects as they are."""
        text = yaml.safe_dump_all(map(dict, objects))
        await self._node.kubectl("apply", *self._where, "-f", "-", input=text)

    async def set_image(self, version: str) -> None:
        """Change the image of the pods, nothing else (`kubectl set image` knows the kinds of Kubernetes alone)."""
        path = "/spec/template/spec/containers/0/image"
        change = [{"op": "replace", "path": path, "value": f"{apps.IMAGE}:{version}"}]
        await self._node.kubectl(
            "patch", *self._where, self._workload, "--type=json", "-p", json.dumps(change)
        )

    async def approve(self) -> None:
        """Approve the step with kubectl alone, without the plugin."""
        status = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
        await self._node.kubectl(
            *("patch", *self._where, "rollout/web", "--subresource=status", "--type=merge"),
            *("-p", json.dumps(status)),
        )

    async def paused_at(self, step: int) -> None:
        """Wait until the step has its pods and asks for an approval."""
        status = "jsonpath={.status.canaryStatus"
        await self.wait("rollout/web", f"{status}.currentStepIndex}}={step}")
        await self.wait("rollout/web", f"{status}.currentStepState}}=StepPaused")

    async def completed(self) -> None:
        """Wait until the release is over."""
        await self.wait("rollout/web", "jsonpath={.status.phase}=Healthy")

    async def stalled(self, reason: str) -> str:
        """Wait until the Rollout is Stalled for this reason; return the message."""
        condition = '{.status.conditions[?(@.type=="Stalled")].reason}'
        await self.wait("rollout/web", f"jsonpath={condition}={reason}")
        found = await self.object("rollout/web")
        (stalled,) = (c for c in found["status"]["conditions"] if c["type"] == "Stalled")
        return str(stalled["message"])

    async def pods(self) -> list[dict[str, Any]]:
        """Return the pods that are not on their way out, by name."""
        listed = await self._node.kubectl(
            "get", "pods", *self._where, "-l", "app=web", "-o", "json"
        )
        items = json.loads(listed)["items"]
        staying = [pod for pod in items if "deletionTimestamp" not in pod["metadata"]]
        return sorted(staying, key=lambda pod: str(pod["metadata"]["name"]))

    async def versions(self) -> list[str]:
        """Return the versions of the pods, sorted."""
        return sorted(version_of(pod) for pod in await self.pods())

    async def all_run(self, version: str) -> None:
        """Wait until the kubelet says that each pod's container runs this version."""
        image = f"jsonpath={{.status.containerStatuses[0].image}}={apps.IMAGE}:{version}"
        for pod in await self.pods():
            await self.wait(f"pod/{pod['metadata']['name']}", image)

    async def object(self, what: str) -> dict[str, Any]:
        """Return one object."""
        found = await self._node.kubectl("get", *self._where, what, "-o", "json")
        read: dict[str, Any] = json.loads(found)
        return read

    async def wait(self, what: str, condition: str) -> None:
        """Wait for a condition of an object."""
        await self._node.kubectl("wait", SECONDS, *self._where, what, f"--for={condition}")


def version_of(pod: Mapping[str, Any]) -> str:
    """Return the tag of the image that the pod should run."""
    return str(pod["spec"]["containers"][0]["image"]).rpartition(":")[2]
