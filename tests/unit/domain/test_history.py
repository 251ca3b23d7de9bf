"""The gateway objects in the record of a release."""

import msgspec

from controller.api.analysis import MetricRecord, ReadingSeen
from controller.api.history import HISTORY_ROLLOUT_NAME, ObjectRecord
from controller.api.rollout import MoonshiftStatus, Step, StepVisit
from controller.domain.decision import OwnScript, Reference
from controller.domain.history import FinishedRelease, Outcome, history_of
from controller.domain.observation import RouteAbsent, RoutePresent, RouteSeen
from tests.unit.builders import NOW, make_rollout


def seen(kind: str, name: str, raw: bytes | None, class_type: str = "") -> RouteSeen:
    reference = Reference("networking.k8s.io/v1", kind, name, "web", "web-canary", class_type)
    state = RouteAbsent() if raw is None else RoutePresent(raw=msgspec.Raw(raw))
    return RouteSeen(reference, state)


def record(*routes: RouteSeen) -> FinishedRelease:
    return FinishedRelease(
        rollout=make_rollout(),
        ours=MoonshiftStatus(),
        rollout_id="r",
        revision="r2",
        steps=(),
        outcome=Outcome.SUCCEEDED,
        now=NOW,
        routes=routes,
    )


def test_the_first_ingress_and_http_route_stand_where_clients_of_the_original_look() -> None:
    shown = history_of(
        record(
            seen("Ingress", "web", b'{"spec":{"x":1}}', "nginx"),
            seen("Ingress", "api", b"{}", "nginx"),
            seen("HTTPRoute", "route", b'{"spec":{}}'),
            seen("HTTPRoute", "other", b'{"spec":{}}'),
            seen("VirtualService", "gone", None),
        )
    ).spec.traffic_routing
    assert shown is not None
    assert shown.ingress == ObjectRecord("web", "Ingress", msgspec.Raw(b'{"x":1}'))
    assert shown.http_route == ObjectRecord("route", "HTTPRoute", msgspec.Raw(b"{}"))
    assert [entry.name for entry in shown.objects] == ["web", "api", "route", "other", "gone"]
    assert shown.objects[1].data is msgspec.UNSET
    assert shown.objects[4].data is msgspec.UNSET


def test_the_record_of_a_rollout_with_a_long_name_has_a_valid_name_and_label() -> None:
    release = record()
    meta = msgspec.structs.replace(release.rollout.metadata, name=f"{'x' * 239}.{'y' * 10}")
    rollout = msgspec.structs.replace(release.rollout, metadata=meta)
    told = history_of(msgspec.structs.replace(release, rollout=rollout)).metadata
    assert ".-" not in told.name
    assert len(told.labels[HISTORY_ROLLOUT_NAME]) <= 63


def test_an_object_of_a_namespaces_script_is_named_and_not_shown() -> None:
    route = seen("Lane", "web", b'{"spec":{"x":1}}')
    own = OwnScript("demo", "scripts", "router")
    mine = msgspec.structs.replace(
        route, reference=msgspec.structs.replace(route.reference, own_script=own)
    )
    shown = history_of(record(mine)).spec.traffic_routing
    assert shown is not None
    (entry,) = shown.objects
    assert (entry.name, entry.data) == ("web", msgspec.UNSET)


def test_the_record_of_a_step_has_the_measurements_of_its_gate() -> None:
    seen = ReadingSeen(NOW, "Bad", 0.5)
    visit = StepVisit(
        step=1, analysis="Failed", metrics=(MetricRecord("errors", "Failed", "bad", (seen,)),)
    )
    release = msgspec.structs.replace(
        record(), ours=MoonshiftStatus(visits=(visit,)), steps=(Step(),)
    )
    (step,) = history_of(release).status.canary_steps
    (metric,) = step.visits[0].metrics
    assert (metric.name, metric.verdict, metric.readings) == ("errors", "Failed", (seen,))


def test_a_release_without_gateway_objects_says_nothing_of_them() -> None:
    assert history_of(record()).spec.traffic_routing is None
