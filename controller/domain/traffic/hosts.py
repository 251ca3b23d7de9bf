"""How gateway objects name Services, and where in a tree such names are.

A Service is written short (`web`), qualified by the namespace (`web.demo`, `web.demo.svc`,
`web.demo.svc.cluster.local`, `demo/web`), or as a name that consists of namespace, Service and port
(`web_demo_svc_8080`, `demo-web-8080`, `demo/web:8080`). Destinations are found by shape, whatever the kind: an object
under `destination` with a `host`, and the elements of `backendRefs` and of `services` with a `name`, which may have a
`namespace`.
Must not know any kind by name; a value of another shape is not a destination.
"""

from collections.abc import Container, Iterator

import msgspec

from controller.domain.traffic.tree import Json

_LONGEST = 1024
"""Characters of a name that is looked for in its qualified forms; no name of an object has as many."""
_LISTS = ("backendRefs", "services")


class Destination(msgspec.Struct, frozen=True):
    """A destination that a rule sends requests to; `subset` separates pods of one host."""

    host: str
    subset: str = ""

    def __str__(self) -> str:
        return f"{self.host} (subset {self.subset})" if self.subset else self.host


def is_service(host: str, service: str, namespace: str) -> bool:
    """`host` is this Service of this namespace, in any of its forms."""
    return service in services_of(host, namespace)


def services_of(host: str, namespace: str) -> Iterator[str]:
    """The names of a Service of this namespace that `host` can mean."""
    yield host
    # Qualified: nothing, `.svc`, or `.svc.<cluster domain>` follows the namespace.
    qualified = f".{namespace}"
    at = host.find(qualified)
    while -1 < at <= _LONGEST:
        tail = host[at + len(qualified) : at + len(qualified) + len(".svc.")]
        if tail in ("", ".svc", ".svc."):
            yield host[:at]
        at = host.find(qualified, at + 1)
    if host.startswith(f"{namespace}/"):
        yield host.removeprefix(f"{namespace}/")
    # Names of ports: a number follows.
    name, _, port = host.rpartition(f"_{namespace}_svc_")
    if port.isdecimal() and port != host:
        yield name
    for begin, end in ((f"{namespace}-", "-"), (f"{namespace}/", ":")):
        name, found, port = host.removeprefix(begin).rpartition(end)
        if host.startswith(begin) and found and port.isdecimal():
            yield name


def destinations_in(value: object) -> Iterator[Destination]:
    """All destinations in a tree, in order."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "destination" and isinstance(item, dict):
                host, subset = item.get("host"), item.get("subset")
                if isinstance(host, str):
                    yield Destination(host, subset if isinstance(subset, str) else "")
            elif key in _LISTS and isinstance(item, list):
                yield from _named(item)
            yield from destinations_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from destinations_in(item)


def _named(items: list[Json]) -> Iterator[Destination]:
    for item in items:
        if not isinstance(item, dict) or not isinstance(name := item.get("name"), str):
            continue
        namespace = item.get("namespace")
        yield Destination(f"{name}.{namespace}" if namespace else name)


def strings_in(value: Json) -> Iterator[str]:
    """All strings in a tree that are values, not keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)


def mentions(value: Json, services: Container[str], namespace: str) -> bool:
    """Some string in the tree names one of the Services; each string is read once, however many they are."""
    return any(
        name in services for text in strings_in(value) for name in services_of(text, namespace)
    )
