"""The actions of the owner of a workload: the same for a Deployment and for a set of pods.

Why it exists: the random releases are written once for all kinds. Invariant: every action except creating and deleting
the workload goes through admission, as in `People`.
"""

from typing import Any, Protocol

import msgspec
from msgspec import structs

from controller.api.meta import ObjectMeta
from controller.api.names import LAST_APPLIED
from controller.api.podsets import PodSet
from controller.api.workloads import Deployment, Pod
from tests.unit.builders import KEY, make_deployment, make_pod_set, template
from tests.unit.worlds import World


class Owner(Protocol):
    """The actions of an owner."""

    world: World

    @property
    def remembers_stable(self) -> bool:
        """At zero its kind can be kept from making its newest revision the stable one."""
        ...

    @property
    def lost_pods_return_new(self) -> bool:
        """Its kind makes every pod of its newest revision."""
        ...

    @property
    def restartable(self) -> bool:
        """`kubectl rollout restart` does not refuse it."""
        ...

    def find(self) -> Deployment | PodSet | None:
        """The workload as it is now."""
        ...

    def manifest(self, version: str, replicas: int) -> Deployment | PodSet:
        """The owner's bare manifest."""
        ...

    def pods(self) -> tuple[Pod, ...]:
        """The workload's own pods, terminating ones included."""
        ...

    @property
    def size(self) -> int:
        """How many pods it asks for."""
        ...

    def edit(self, **changes: Any) -> None:
        """Change the spec."""
        ...

    def undo(self, version: str) -> None:
        """`kubectl rollout undo`."""
        ...

    def replace(self, version: str, replicas: int) -> None:
        """`kubectl replace` with the bare manifest."""
        ...

    def label(self, labels: dict[str, str]) -> None:
        """Replace the labels."""
        ...

    def scale(self, replicas: int) -> None:
        """Ask for another number of pods."""
        ...

    def make(self, version: str, replicas: int) -> None:
        """Create the workload."""
        ...

    def delete(self) -> None:
        """Delete the workload."""
        ...


class DeploymentOwner:
    """Of a Deployment with these limits."""

    def __init__(self, world: World, limits: Any, min_ready: int) -> None:
        self.world = world
        self._limits = limits
        self._min_ready = min_ready
        self.remembers_stable = True
        self.lost_pods_return_new = False

    @property
    def restartable(self) -> bool:
        """It is not paused."""
        return not self.world.cluster.deployments[KEY].spec.paused

    def find(self) -> Deployment | None:
        """The workload as it is now."""
        return self.world.cluster.deployments.get(KEY)

    def manifest(self, version: str, replicas: int) -> Deployment:
        """The owner's bare manifest."""
        return applied_deployment(version, replicas, self._limits, self._min_ready)

    def pods(self) -> tuple[Pod, ...]:
        """The pods of all its ReplicaSets."""
        cluster = self.world.cluster
        owned = cluster.replica_sets_of(cluster.deployments[KEY])
        return tuple(pod for replica_set in owned for pod in cluster.pods_of(replica_set))

    @property
    def size(self) -> int:
        """Its replicas."""
        return self.world.cluster.deployments[KEY].spec.replicas

    def edit(self, **changes: Any) -> None:
        """Change the spec."""
        self.world.people.edit(KEY, **changes)

    def undo(self, version: str) -> None:
        """`kubectl rollout undo` replaces all annotations besides."""
        self.world.people.undo(KEY, template(version))

    def replace(self, version: str, replicas: int) -> None:
        """`kubectl replace --save-config` with the bare manifest."""
        manifest = self.manifest(version, replicas)
        self.world.people.replace(KEY, manifest.spec, manifest.metadata.annotations)

    def label(self, labels: dict[str, str]) -> None:
        """Replace the labels."""
        self.world.people.label(KEY, labels)

    def scale(self, replicas: int) -> None:
        """Ask for another number of pods."""
        self.edit(replicas=replicas)

    def make(self, version: str, replicas: int) -> None:
        """Create the workload."""
        self.world.cluster.deployments.put(self.manifest(version, replicas))

    def delete(self) -> None:
        """Delete the workload."""
        self.world.cluster.deployments.delete(KEY)


class SetOwner:
    """Of a set of pods, by its name in `SETS`."""

    def __init__(self, world: World, which: str, min_ready: int) -> None:
        self.world = world
        self._which = which
        self._min_ready = min_ready
        self.remembers_stable = "StatefulSet" in which
        self.lost_pods_return_new = self.on_nodes

    @property
    def on_nodes(self) -> bool:
        """There is a pod on every node, whatever anybody asks for."""
        return "Daemon" in self._which

    @property
    def restartable(self) -> bool:
        """Always: who restarts another kind writes the annotation by a patch."""
        return True

    def find(self) -> PodSet | None:
        """The workload as it is now."""
        return self.world.cluster.pod_sets.get(KEY)

    def manifest(self, version: str, replicas: int) -> PodSet:
        """The owner's bare manifest."""
        return make_pod_set(
            self._which,
            version=version,
            replicas=replicas,
            min_ready_seconds=self._min_ready or None,
        )

    def pods(self) -> tuple[Pod, ...]:
        """Its pods."""
        return self.world.cluster.pods_of(self.world.cluster.pod_sets[KEY])

    @property
    def size(self) -> int:
        """Its replicas, or the nodes there are."""
        cluster = self.world.cluster
        return cluster.nodes if self.on_nodes else cluster.pod_sets[KEY].spec.replicas or 0

    def edit(self, **changes: Any) -> None:
        """Change the spec."""
        self.world.people.edit_set(KEY, **changes)

    def undo(self, version: str) -> None:
        """`kubectl rollout undo` writes the old template."""
        self.edit(template=template(version))

    def replace(self, version: str, replicas: int) -> None:
        """`kubectl replace` with the bare manifest."""
        self.world.people.replace_set(KEY, self.manifest(version, replicas).spec)

    def label(self, labels: dict[str, str]) -> None:
        """Replace the labels."""
        self.world.people.label_set(KEY, labels)

    def scale(self, replicas: int) -> None:
        """Ask for another number of pods; nodes are added, or go with their pods."""
        if not self.on_nodes:
            self.edit(replicas=replicas)
            return
        cluster = self.world.cluster
        cluster.nodes = replicas
        for pod in self.pods()[replicas:]:
            cluster.pods.remove(pod.metadata.key)

    def make(self, version: str, replicas: int) -> None:
        """Create the workload."""
        made = self.manifest(version, replicas)
        if self.on_nodes:
            self.world.cluster.nodes = replicas
        self.world.cluster.pod_sets.put(made)

    def delete(self) -> None:
        """Delete the workload."""
        self.world.cluster.pod_sets.delete(KEY)


def applied_deployment(version: str, replicas: int, limits: Any, min_ready: int) -> Deployment:
    """The owner's manifest with the annotation in which `kubectl apply` writes it down."""
    surge, unavailable = limits
    made = make_deployment(
        version=version,
        replicas=replicas,
        max_surge=surge,
        max_unavailable=unavailable,
        min_ready_seconds=min_ready,
    )
    written = msgspec.json.encode({"spec": made.spec}).decode()
    meta = structs.replace(made.metadata, annotations={LAST_APPLIED: written})
    return structs.replace(made, metadata=meta)


def version_of(workload: Deployment | PodSet) -> str:
    """The version in its template."""
    tree = msgspec.json.decode(workload.spec.template)
    image: str = tree["spec"]["containers"][0]["image"]
    return image.removeprefix("img:")


def without_label(meta: ObjectMeta, name: str) -> dict[str, str]:
    """Its labels but this one."""
    return {key: value for key, value in structs.asdict(meta)["labels"].items() if key != name}
