"""How gateway objects name Services, and where in a tree such names are.

A Service is written short (`web`), qualified by the namespace (`web.demo`, `web.demo.svc`,
`web.demo.svc.cluster.local`, `demo/web`), or as a name that consists of namespace, Service and port
(`web_demo_svc_8080`, `demo-web-8080`, `demo/web:8080`). Destinations are found by shape, whatever the kind: an object
under `destination` with a `host`, and the elements of `backendRefs` and of `services` with a `name`, which may have a
`namespace`.
Must not know any kind by name; a value of another shape is not a destination.
"""

from collections.abc import Iterator

import msgspec

from controller.domain.traffic.tree import Json

_LISTS = ("backendRefs", "services")


class Destination(msgspec.Struct, frozen=True):
    """A destination that a rule sends requests to; `subset` separates pods of one host."""

    host: str
    subset: str = ""

    def __str__(self) -> str:
        return f"{self.host} (subset {self.subset})" if self.subset else self.host


def is_service(host: str, service: str, namespace: str) -> bool:
    """`host` is this Service of this namespace, in any of its forms."""
    if host == service:
        return True
    # Qualified: nothing, `.svc`, or `.svc.<cluster domain>` follows the namespace.
    tail = host.removeprefix(f"{service}.{namespace}")
    if tail != host and (tail in ("", ".svc") or tail.startswith(".svc.")):
        return True
    if host == f"{namespace}/{service}":
        return True
    # Names of ports: a number follows. `removeprefix` returns the whole host if the prefix is another one.
    return any(
        port != host and port.isdecimal()
        for port in (
            host.removeprefix(f"{service}_{namespace}_svc_"),
            host.removeprefix(f"{namespace}-{service}-"),
            host.removeprefix(f"{namespace}/{service}:"),
        )
    )


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


def mentions(value: Json, service: str, namespace: str) -> bool:
    """Some string in the tree names the Service."""
    return any(is_service(text, service, namespace) for text in strings_in(value))
