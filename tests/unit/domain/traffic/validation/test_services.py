import json
from typing import Any

import msgspec
import pytest

from controller.domain.decision import Reference
from controller.domain.observation import RouteAbsent, RoutePresent, RouteSeen
from controller.domain.traffic.validation.services import why_shared_service_mixes

# --- one shared Service -----------------------------------------------------------------------------


def seen(kind: str, spec: Any, *, canary: str = "web", raw: bytes | None = None) -> RouteSeen:
    reference = Reference("networking.istio.io/v1", kind, "x", "web", canary)
    live = {"kind": kind, "metadata": {"name": "x", "namespace": "demo"}, "spec": spec}
    return RouteSeen(
        reference=reference,
        state=RoutePresent(raw=msgspec.Raw(raw or json.dumps(live).encode())),
    )


def service(subset: str | None = "base", host: str = "web.demo") -> RouteSeen:
    destination = {"host": host} | ({"subset": subset} if subset else {})
    return seen("VirtualService", {"tcp": [{"route": [{"destination": destination}]}]})


def rule(labels: Any = None, host: Any = "web", name: str = "base") -> RouteSeen:
    subset = {"name": name, "labels": {"version": "base"} if labels is None else labels}
    return seen("DestinationRule", {"host": host, "subsets": ["odd", subset]})


OLD = {"app": "web", "version": "base"}
NEW = {"app": "web", "version": "canary"}


def reason(*routes: RouteSeen, old: dict[str, str] = OLD, new: dict[str, str] = NEW) -> str | None:
    return why_shared_service_mixes(routes, old, new)


def test_a_subset_without_new_pods_separates_the_revisions() -> None:
    assert reason(service(), rule()) is None


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        pytest.param(
            (service(None), rule()), "VirtualService/x sends requests to web.demo as a whole"
        ),
        pytest.param((service(),), "no DestinationRule"),
        pytest.param((service(), rule(name="other")), "no DestinationRule"),
        pytest.param((service(), rule(host="api")), "no DestinationRule"),
        pytest.param((service(), rule(host=None)), "no DestinationRule"),
        pytest.param((service(), seen("DestinationRule", {"host": "web"})), "no DestinationRule"),
        pytest.param((service(), seen("DestinationRule", None)), "no DestinationRule"),
        pytest.param((service(), rule({"app": "web"})), "differ in version"),
        pytest.param((service(), rule({})), "labels that new pods carry too"),
    ],
)
def test_an_object_that_mixes_revisions_is_named(routes: tuple[RouteSeen, ...], words: str) -> None:
    assert words in (reason(*routes) or "")


def test_indistinguishable_pods_are_reported() -> None:
    assert "carry the same labels" in (reason(service(), rule(), new=OLD) or "")


def test_routes_of_other_services_and_unreadable_routes_are_not_judged() -> None:
    own = seen(
        "VirtualService", {"http": [{"route": [{"destination": {"host": "web"}}]}]}, canary="c"
    )
    other = RouteSeen(reference=own.reference, state=RouteAbsent())
    shared = RouteSeen(reference=service().reference, state=RouteAbsent())
    route = seen("HTTPRoute", {})
    damaged = seen("VirtualService", {}, raw=b"[]")
    assert reason(own, other, shared, route, damaged, service(None, host="api")) is None
