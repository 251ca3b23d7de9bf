"""The warnings about the objects that a Rollout names: only known facts, and always with the field."""

import pytest
from msgspec import structs

from controller.api.meta import ObjectMeta
from controller.api.names import FREEZE_MIN_READY_SECONDS
from controller.api.networking import Service, ServiceSpec
from controller.domain.admission.named import Named, PacedStep
from controller.domain.admission.surroundings import (
    Absent,
    Exists,
    Seen,
    Template,
    Unknown,
    left_in_a_hold,
    remarks,
)
from controller.domain.traffic.validation.selecting import warning_about

WORKLOAD = Named("spec.workloadRef", "apps/v1", "Deployment", "web")
FRONT = Named("spec.strategy.canary.trafficRoutings[0].service", "v1", "Service", "front")
PODS = Template({"app": "web", "tier": "front"})


def service(**spec: object) -> Service:
    return Service(ObjectMeta(name="front", namespace="shop"), ServiceSpec(**spec))  # type: ignore[arg-type]  # fields by name


def remarks_on(workload: Seen, front: Seen) -> tuple[str, ...]:
    seen = {WORKLOAD: workload, FRONT: front}
    return tuple(remark.text for remark in remarks((WORKLOAD, FRONT), seen, "shop"))


def test_an_absent_object_is_reported_with_its_field() -> None:
    way_out = "create it, or correct the reference; no release begins without it"
    assert remarks_on(Absent(), Absent()) == (
        f"spec.workloadRef: Deployment shop/web does not exist: {way_out}",
        f"spec.strategy.canary.trafficRoutings[0].service: Service shop/front does not exist: {way_out}",
    )


@pytest.mark.parametrize("unknown", [Unknown(), Exists()])
def test_an_unknown_state_causes_no_warning(unknown: Seen) -> None:
    assert remarks_on(unknown, unknown) == ()
    assert remarks_on(unknown, service(selector={"app": "elsewhere"})) == ()
    assert remarks((WORKLOAD,), {}, "shop") == ()


@pytest.mark.parametrize(
    "spec", [{}, {"type": "ExternalName"}, {"selector": {"app": "web"}, "cluster_ip": "None"}]
)
def test_a_service_that_cannot_lead_is_reported_in_the_words_of_the_release(
    spec: dict[str, object],
) -> None:
    found = service(**spec)
    assert remarks_on(PODS, found) == (f"{FRONT.path}: {warning_about(found)}",)


@pytest.mark.parametrize("wrong", [{"app": "shop"}, {"app": "web", "zone": "a"}])
def test_a_selector_that_matches_no_pod_is_reported(wrong: dict[str, str]) -> None:
    selector = ",".join(f"{key}={value}" for key, value in sorted(wrong.items()))
    (text,) = remarks_on(PODS, service(selector=wrong))
    assert text == (
        f"{FRONT.path}: Service shop/front: its selector {selector} matches no pod of Deployment shop/web; give the "
        "pod template these labels, or correct the Service"
    )


def test_a_pin_and_labels_that_controllers_add_are_no_mistake() -> None:
    for added in ("pod-template-hash", "controller-revision-hash", "apps.kubernetes.io/pod-index"):
        assert remarks_on(PODS, service(selector={"app": "web", added: "x"})) == ()


def test_a_remark_lists_the_objects_that_it_is_about() -> None:
    seen: dict[Named, Seen] = {WORKLOAD: PODS, FRONT: service(selector={"app": "shop"})}
    (remark,) = remarks((WORKLOAD, FRONT), seen, "shop")
    assert remark.about == (FRONT, WORKLOAD)


@pytest.mark.parametrize(("size", "warned"), [(None, False), (0, False), (1, True), (2, False)])
def test_a_step_that_is_all_of_a_small_workload_is_warned_of(
    size: int | None, warned: bool
) -> None:
    small = structs.replace(
        WORKLOAD, paced=(PacedStep("spec.strategy.canary.steps[0]", "5%", "5%"),)
    )
    found = remarks((small,), {small: Template({"app": "web"}, size)}, "shop")
    assert [remark.text for remark in found] == [
        (
            "spec.strategy.canary.steps[0]: Deployment shop/web has 1 replica, and replicas: 5% is all of them: the "
            "new version gets all requests there, not 5%; use enableExtraWorkloadForCanary, or more replicas"
        )
    ] * warned


@pytest.mark.parametrize(
    ("seconds", "deadline", "warned"),
    [
        (30, 20, True),
        (20, 20, True),
        (19, 20, False),
        (30, None, False),
        (FREEZE_MIN_READY_SECONDS, 20, False),
    ],
)
def test_work_that_cannot_fit_into_the_deadline_of_a_step_is_warned_of(
    seconds: int, deadline: int | None, warned: bool
) -> None:
    """The owner's minReadySeconds are work. Our own hold of a Deployment writes another number there."""
    pressed = structs.replace(WORKLOAD, deadline=deadline)
    found = remarks((pressed,), {pressed: Template({}, 3, seconds)}, "shop")
    assert [remark.text for remark in found] == [
        "spec.workloadRef: Deployment shop/web has minReadySeconds: 30, so no step is ready within "
        "progressDeadlineSeconds: 20; make progressDeadlineSeconds longer than that".replace(
            "30", str(seconds)
        )
    ] * warned


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        (Template({}, held_for="web"), True),
        (Template({}, held_for="another"), False),
        (Template({}), False),
        (Absent(), False),
        (Unknown(), False),
    ],
)
def test_a_rollout_may_not_leave_a_workload_that_is_held_for_its_release(
    found: Seen, refused: bool
) -> None:
    findings = left_in_a_hold(WORKLOAD, found, "web")
    assert [finding.path for finding in findings] == [WORKLOAD.path] * refused
    assert all("Deployment web is held for a release" in str(finding) for finding in findings)
