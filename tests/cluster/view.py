"""The cluster at one revision, in the words that invariants are written in."""

from collections.abc import Iterator
from dataclasses import dataclass

from localcluster.api import JsonObject
from localcluster.history import Change, Key, Kind
from tests.cluster.kinds import (
    DEPLOYMENTS,
    DESTINATION_RULES,
    PODS,
    SERVICES,
    SLICES,
    VIRTUAL_SERVICES,
)
from tests.cluster.manifests import Application


@dataclass(frozen=True, slots=True)
class Destination:
    """One destination of a route, with its share in percent."""

    host: str
    subset: str
    weight: int

    def is_canary(self, app: Application) -> bool:
        """Whether the destination leads to the new revision."""
        return self.subset == "canary" if app.shared else self.host == app.canary_service


def deleting(obj: JsonObject) -> bool:
    """Its deletion was requested."""
    return "deletionTimestamp" in obj["metadata"]


def ended(pod: JsonObject) -> bool:
    """It will never run again, and its workload's controller no longer counts it."""
    return (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")


def ready(pod: JsonObject) -> bool:
    """Ready, and not on its way out."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return not deleting(pod) and any(
        c["type"] == "Ready" and c["status"] == "True" for c in conditions
    )


def image_of(pod: JsonObject) -> str:
    """The image of a pod, by which tests distinguish revisions."""
    image: str = pod["spec"]["containers"][0]["image"]
    return image


class View:
    """A fold of changes in one namespace."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._objects: dict[Kind, dict[str, JsonObject]] = {}

    def apply(self, change: Change) -> None:
        """Apply one change."""
        if change.key.namespace != self._namespace:
            return
        kind = self._objects.setdefault(change.key.kind, {})
        if change.type == "DELETED":
            kind.pop(change.key.name, None)
        else:
            kind[change.key.name] = change.object

    def state(self) -> dict[Key, JsonObject]:
        """All objects, by their keys."""
        return {
            Key(kind, self._namespace, name): obj
            for kind, found in self._objects.items()
            for name, obj in found.items()
        }

    def get(self, kind: Kind, name: str) -> JsonObject | None:
        """One object, or None."""
        return self._objects.get(kind, {}).get(name)

    def of(self, kind: Kind) -> Iterator[JsonObject]:
        """All objects of a kind."""
        return iter(self._objects.get(kind, {}).values())

    def pods(self, app: str) -> list[JsonObject]:
        """The pods of an application, of any revision."""
        return [p for p in self.of(PODS) if p["metadata"].get("labels", {}).get("app") == app]

    def service(self, name: str) -> JsonObject | None:
        """A Service."""
        return self.get(SERVICES, name)

    def extra_deployments(self, app: str) -> list[JsonObject]:
        """Deployments made beside an application's own."""
        label = "rollouts.kruise.io/canary-deployment"
        return [
            d for d in self.of(DEPLOYMENTS) if (d["metadata"].get("labels") or {}).get(label) == app
        ]

    def endpoints(self, service: str) -> list[JsonObject]:
        """The pods that a Service's slices call ready and that still exist.

        A StatefulSet's new pod has the name of the old one: it does not count until the slice has its UID.
        """
        found = []
        for part in self.of(SLICES):
            if part["metadata"].get("labels", {}).get("kubernetes.io/service-name") != service:
                continue
            for endpoint in part.get("endpoints") or ():
                meant = endpoint.get("targetRef") or {}
                pod = self.get(PODS, meant.get("name", ""))
                if not endpoint["conditions"].get("ready") or pod is None:
                    continue
                if meant.get("uid") in (None, pod["metadata"].get("uid")):
                    found.append(pod)
        return found

    def subset(self, rule: str, name: str) -> dict[str, str] | None:
        """The labels of a DestinationRule's subset."""
        found = self.get(DESTINATION_RULES, rule)
        for subset in (found or {}).get("spec", {}).get("subsets") or ():
            if subset["name"] == name:
                return dict(subset.get("labels") or {})
        return None

    def behind(self, app: str, destination: Destination) -> list[JsonObject]:
        """The ready pods that requests for a destination reach."""
        pods = self.endpoints(destination.host)
        if not destination.subset:
            return pods
        labels = self.subset(app, destination.subset)
        if labels is None:
            return []
        return [pod for pod in pods if labels.items() <= pod["metadata"]["labels"].items()]

    def routes(self, name: str) -> Iterator[list[Destination]]:
        """The destinations of each rule of a VirtualService."""
        found = self.get(VIRTUAL_SERVICES, name)
        for rule in (found or {}).get("spec", {}).get("http") or ():
            routes = rule["route"]
            yield [
                Destination(
                    host=route["destination"]["host"],
                    subset=route["destination"].get("subset", ""),
                    weight=route.get("weight", 100 if len(routes) == 1 else 0),
                )
                for route in routes
            ]

    def destinations(self, name: str) -> list[Destination]:
        """All destinations of a VirtualService."""
        return [destination for rule in self.routes(name) for destination in rule]

    def share(self, app: Application, image: str) -> float:
        """The part of all requests that reaches pods of an image, from 0 to 1."""
        here = (app.name, app.canary_service)
        rules = [rule for rule in self.routes(app.name) if any(d.host in here for d in rule)] or [
            [Destination(app.name, "", 100)]
        ]
        return min(sum(d.weight / 100 * self._part(app, d, image) for d in rule) for rule in rules)

    def _part(self, app: Application, destination: Destination, image: str) -> float:
        pods = self.behind(app.name, destination)
        return sum(1 for p in pods if image_of(p) == image) / len(pods) if pods else 0.0
