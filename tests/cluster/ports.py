"""The ports that a gateway object expects of a Service.

Why it exists: a gateway refuses a route to a port that the Service does not have, so an example needs a Service with
the ports of its route. Invariant: references to a Service of the same name in another namespace do not count. Must not
list kinds of gateways: the same few words for ports recur in all of them.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from localcluster.api import JsonObject

NAMESPACES = ("namespace", "serviceNamespace")
NUMBERS = ("port", "servicePort", "number")
NAMES = ("sectionName", "targetPort")


class Port(NamedTuple):
    """One port of a Service. A Service with several ports needs their names."""

    number: int = 80
    name: str = ""
    protocol: str = "TCP"

    def manifest(self) -> JsonObject:
        """The port in a Service."""
        name: JsonObject = {"name": self.name} if self.name else {}
        return {**name, "port": self.number, "protocol": self.protocol}


WEB = (Port(),)


def ports_of(gateway_object: JsonObject, service: str, namespace: str) -> tuple[Port, ...]:
    """The ports of the Service that the gateway object names, or port 80 if it names none."""
    items = [*_items(gateway_object["spec"])]
    ours = [item for item in items if _names(item, service, namespace)]
    numbers = {number for item in ours for key in NUMBERS for number in _numbers(item.get(key))}
    # One string for Service, namespace and port: web.demo:8080, web_demo_svc_8080, demo/web:8080, demo-web-8080.
    joined = rf"\b(?:{service}[._]{namespace}(?:_svc_|:)|{namespace}[/-]{service}[:-])(\d+)"
    numbers |= {int(found) for item in items for found in re.findall(joined, repr(item))}
    protocol = "UDP" if "UDP" in gateway_object["kind"] else "TCP"
    if len(numbers) < 2:
        names = (*_texts(ours, NUMBERS), *_texts(items, NAMES))
        # parentRefs have a sectionName, too: the name of a listener.
        name = names[0] if names and "parentRefs" not in gateway_object["spec"] else ""
        return (Port(min(numbers, default=80), name, protocol),)
    return tuple(Port(number, f"port-{number}", protocol) for number in sorted(numbers))


def _items(tree: Any) -> Iterator[JsonObject]:
    """Every mapping of a tree."""
    if isinstance(tree, dict):
        yield tree
    for child in (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    ):
        yield from _items(child)


def _texts(items: list[JsonObject], keys: tuple[str, ...]) -> list[str]:
    """The names of ports in these fields: `servicePort: http`."""
    values = [item.get(key) for item in items for key in keys]
    return [value for value in values if isinstance(value, str) and not value.isdigit()]


def _names(item: JsonObject, service: str, namespace: str) -> bool:
    """Whether a mapping, or its `ref`, refers to the Service."""
    own = {**item, **(item["ref"] if isinstance(item.get("ref"), dict) else {})}
    named = service in (own.get("name"), own.get("service"), own.get("serviceName"))
    return named and all(own.get(key, namespace) == namespace for key in NAMESPACES)


def _numbers(value: Any) -> Iterator[int]:
    """The numbers in a field for a port: `8080`, `['8080']`, `{number: 8080}`."""
    if isinstance(value, dict):
        value = value.get("number")
    for one in value if isinstance(value, list) else [value]:
        if str(one).isdigit():
            yield int(one)
