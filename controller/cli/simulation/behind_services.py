"""Other workloads among the manifests whose pods are behind the Services of a release.

Why: a release pins these Services, and the others' pods then get nothing through them. The decision about that counts
ready endpoints, so a simulation needs the pods. Invariant: the pods of each such workload run as those of a Deployment,
whatever its kind, because only their number and their labels matter here.
"""

from collections.abc import Iterable, Iterator

from controller.api.jsontree import JsonObject, child, text
from controller.domain.traffic.tree import Tree


def other_workloads(
    workload: Tree, services: Iterable[Tree | None], objects: list[Tree], namespace: str
) -> tuple[JsonObject, ...]:
    """A Deployment for each of them."""
    selectors = [_strings(child(one, "spec", "selector")) for one in services if one]
    return tuple(_deployments(workload, [one for one in selectors if one], objects, namespace))


def _deployments(
    workload: Tree, selectors: list[dict[str, str]], objects: list[Tree], namespace: str
) -> Iterator[JsonObject]:
    own = text(workload, "kind"), text(workload, "metadata", "name")
    for item in objects:
        place = text(item, "kind"), text(item, "metadata", "name")
        spec = child(item, "spec")
        labels = _strings(child(spec, "template", "metadata", "labels"))
        elsewhere = text(item, "metadata", "namespace") not in ("", namespace)
        if place == own or elsewhere or not labels:
            continue
        if any(selector.items() <= labels.items() for selector in selectors):
            yield _running("-".join(place).lower(), namespace, _replicas(spec), labels)


def _strings(fields: JsonObject) -> dict[str, str]:
    return {name: value for name, value in fields.items() if isinstance(value, str)}


def _replicas(spec: JsonObject) -> int:
    wanted = spec.get("replicas", 1)
    return wanted if isinstance(wanted, int) and not isinstance(wanted, bool) else 1


def _running(name: str, namespace: str, replicas: int, labels: dict[str, str]) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {}},
        },
        "status": {},
    }
