"""The findings of `takeover --check` and `uninstall --check` about each object, and the commands that they give."""

import json
from typing import Any

import pytest

from controller.api.jsontree import JsonObject
from controller.cli.handover.finding import Finding, Findings
from controller.cli.handover.inventory import Inventory
from controller.cli.handover.leaving import before_leaving
from controller.cli.handover.taking import before_taking_over
from tests import originals

ROLLOUTS = "rollouts.kruise.io/v1beta1"
LABEL = {"rollouts.kruise.io/workload-type": "deployment"}


def thing(api_version: str, kind: str, name: str = "web", **metadata: Any) -> JsonObject:
    """Any object."""
    meta = {"name": name, "namespace": "shop", **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def rollout(phase: str = "Progressing", state: str = "StepPaused", **more: Any) -> JsonObject:
    """The Rollout of the Deployment `web`, as the original left it."""
    ref = {"apiVersion": "apps/v1", "kind": more.pop("kind", "Deployment"), "name": "web"}
    status: Any = {"phase": phase}
    if state:
        status["canaryStatus"] = {"currentStepIndex": 2, "currentStepState": state}
    status |= more.pop("status", {})
    spec = {"workloadRef": ref, **more.pop("spec", {})}
    return {**thing(ROLLOUTS, "Rollout", **more), "spec": spec, "status": status}


def deployment(spec: JsonObject | None = None, **metadata: Any) -> JsonObject:
    """The Deployment `web`."""
    return {**thing("apps/v1", "Deployment", **metadata), "spec": spec or {"replicas": 2}}


def held() -> JsonObject:
    """The Deployment in partition style, as the original holds it."""
    strategy = '{"rollingStyle":"Partition","rollingUpdate":{"maxSurge":1},"partition":"20%"}'
    annotations = {
        originals.CONTROL_INFO: originals.control_info("web"),
        originals.STRATEGY: strategy,
        "rollouts.kruise.io/in-progressing": '{"rolloutName":"web"}',
    }
    labels = {**LABEL, originals.CONTROLLED: "true"}
    spec = {"paused": True, "strategy": {"type": "Recreate"}, "minReadySeconds": 3}
    return deployment(spec, annotations=annotations, labels=labels)


def finding_of(kind: str, seen: Inventory, name: str = "web") -> Finding:
    """The finding about an object before the controller takes over."""
    found = [item for item in before_taking_over(seen) if (item.kind, item.name) == (kind, name)]
    assert len(found) == 1, found
    return found[0]


def patch_in(command: str) -> Any:
    """The body of a command's patch."""
    return json.loads(command.partition("-p '")[2].removesuffix("'"))


# --- taking over --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (rollout(), "goes on at step 2 with its pods and its traffic; the step waits"),
        (rollout(state="StepUpgrade"), "goes on at step 2 with its pods and its traffic"),
        (rollout(state="StepReady"), "goes on after step 2, which was approved"),
        (rollout(state="Completed"), "is at its end"),
        (rollout("Terminating", deletionTimestamp="2026-01-01T00:00:00Z"), "is being deleted"),
        (rollout("Disabling"), "was disabled"),
        (rollout(spec={"disabled": True}), "was disabled"),
        (rollout("Healthy", "Completed"), "at rest: nothing changes"),
        (rollout(status={"moonshift": {"release": "r"}}), "Moonshift leads its release already"),
    ],
)
def test_the_handover_explains_the_fate_of_every_rollout(found: JsonObject, words: str) -> None:
    finding = finding_of("Rollout", Inventory(rollouts=(found,), workloads=(deployment(),)))
    assert words in finding.says
    assert finding.first == ()


def test_a_held_change_begins_its_release() -> None:
    seen = Inventory(rollouts=(rollout("Healthy", "Completed"),), workloads=(held(),))
    assert "begins at step 1" in finding_of("Rollout", seen).says
    assert "no pod changes" in finding_of("Deployment", seen).says


def test_a_rollout_without_its_workload_says_so() -> None:
    assert "restored" in finding_of("Rollout", Inventory(rollouts=(rollout(),))).says
    at_rest = Inventory(rollouts=(rollout("Healthy", "Completed"),))
    assert "was not found" in finding_of("Rollout", at_rest).says


def test_a_replica_set_has_to_be_changed_first() -> None:
    assert finding_of("Rollout", Inventory(rollouts=(rollout(kind="ReplicaSet"),))).first


@pytest.mark.parametrize(
    ("name", "container", "replicas", "at_work"),
    [
        ("mine", {"image": "docker.io/openkruise/kruise-rollout:v0.6.2"}, 2, True),
        ("kruise-rollout-controller-manager", {"image": "x", "command": ["/manager"]}, 1, True),
        ("kruise-rollout-controller-manager", {"image": "x", "command": ["python"]}, 1, False),
        ("mine", {"image": "kruise-rollout"}, 0, False),
    ],
)
def test_a_controller_of_the_original_has_to_stop_first(
    name: str, container: JsonObject, replicas: int, at_work: bool
) -> None:
    spec = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    found = before_taking_over(Inventory(workloads=(deployment(spec, name=name),)))
    assert bool(found) is at_work
    if found:
        assert found[0].first == (f"kubectl -n shop scale deployment {name} --replicas 0",)


def test_a_held_workload_without_a_release_is_let_go_with_its_owners_values() -> None:
    finding = finding_of("Deployment", Inventory(workloads=(held(),)))
    patch = patch_in(finding.first[0])
    assert patch["spec"] == {
        "paused": None,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        "minReadySeconds": 3,
        "progressDeadlineSeconds": None,
    }
    assert patch["metadata"]["annotations"][originals.STRATEGY] is None
    assert patch["metadata"]["labels"][originals.CONTROLLED] is None


@pytest.mark.parametrize(
    ("api_version", "kind", "strategy", "given_back"),
    [
        ("apps/v1", "StatefulSet", {"rollingUpdate": {"partition": 2}}, {"rollingUpdate": {"partition": None}}),
        ("apps.kruise.io/v1alpha1", "CloneSet", {"partition": "80%"}, {"partition": None}),
        ("apps/v1", "DaemonSet", {"type": "OnDelete"}, {"type": "RollingUpdate", "rollingUpdate": {"partition": None}}),
    ],
)  # fmt: skip
def test_a_held_set_without_a_release_is_let_go(
    api_version: str, kind: str, strategy: JsonObject, given_back: JsonObject
) -> None:
    info = {originals.CONTROL_INFO: originals.control_info("web")}
    body = {**thing(api_version, kind, annotations=info), "spec": {"updateStrategy": strategy}}
    finding = finding_of(kind, Inventory(workloads=(body,)))
    assert patch_in(finding.first[0])["spec"] == {"updateStrategy": given_back}


def test_a_batch_release_goes_with_its_release_or_by_hand() -> None:
    one = originals.batch_release(rollout(uid="u"))
    led = Inventory(rollouts=(rollout(),), batch_releases=(one,))
    assert "taken over" in finding_of("BatchRelease", led).says
    left = finding_of("BatchRelease", Inventory(batch_releases=(one,)))
    assert left.first[0].startswith("kubectl -n shop delete batchrelease.rollouts.kruise.io web")
    assert patch_in(left.first[1]) == {"metadata": {"finalizers": None}}


def test_an_extra_deployment_is_used_again_or_deleted_by_hand() -> None:
    labels = {originals.CANARY_OF: "web"}
    extra = deployment(name="web-x", labels=labels, finalizers=[originals.CANARY_FINALIZER])
    led = Inventory(rollouts=(rollout(),), workloads=(extra,))
    assert "stays in use" in finding_of("Deployment", led, "web-x").says
    assert finding_of("Deployment", Inventory(workloads=(extra,)), "web-x").first


def test_a_renamed_autoscaler_is_given_its_target_back() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web-DisableByRollout"}
    scaler = {
        **thing("autoscaling/v2", "HorizontalPodAutoscaler"),
        "spec": {"scaleTargetRef": target},
    }
    led = rollout(spec={"strategy": {"blueGreen": {}}})
    kind = "HorizontalPodAutoscaler"
    assert not finding_of(kind, Inventory(rollouts=(led,), autoscalers=(scaler,))).first
    left = finding_of(kind, Inventory(autoscalers=(scaler,)))
    assert patch_in(left.first[0]) == {"spec": {"scaleTargetRef": {"name": "web"}}}


def test_a_workload_that_nobody_holds_is_not_mentioned() -> None:
    scaler = thing("autoscaling/v2", "HorizontalPodAutoscaler")
    assert before_taking_over(Inventory(workloads=(deployment(),), autoscalers=(scaler,))) == ()


# --- leaving ------------------------------------------------------------------------------------


def test_releases_and_finalizers_are_named_with_their_way_out() -> None:
    under_way = rollout(status={"moonshift": {"release": "r", "step": 2}})
    at_rest = rollout("Healthy", name="rest", finalizers=["rollouts.kruise.io/rollout"])
    free = rollout("Healthy", name="free")
    routing = thing(
        "rollouts.kruise.io/v1alpha1",
        "TrafficRouting",
        finalizers=["progressing.rollouts.kruise.io/web"],
    )
    seen = Inventory(rollouts=(under_way, at_rest, free), traffic_routings=(routing,))
    first, second, third, fourth = before_leaving(seen, "kubectl moonshift")
    assert first.first[0].startswith("kubectl moonshift -n shop undo web")
    assert second.first == ("kubectl -n shop delete rollout.rollouts.kruise.io rest",)
    assert third.first == ()
    assert "1 releases under way" in fourth.says


@pytest.mark.parametrize(
    ("part", "obj", "has_to_be_done"),
    [
        ("workloads", deployment(annotations={"moonshift.dev/latch": "x"}), True),
        ("workloads", deployment(labels=LABEL), False),
        ("workloads", deployment(labels={"moonshift.dev/rollout-uid": "u"}), False),
        ("services", thing("v1", "Service", labels={"moonshift.dev/pinned": "true"}), True),
        ("services", thing("v1", "Service", annotations={"moonshift.dev/rollout-uid": "u"}), False),
        ("routes", thing("x/v1", "R", annotations={"moonshift.dev/route": "{}"}), True),
        ("routes", thing("x/v1", "R", annotations={"moonshift.dev/made": "{}"}), False),
        (
            "autoscalers",
            thing("v1", "H", annotations={"moonshift.dev/original-behavior": ""}),
            True,
        ),
    ],
)
def test_objects_that_would_be_left_behind_are_named(
    part: str, obj: JsonObject, has_to_be_done: bool
) -> None:
    seen = Inventory(**{part: (obj,)})  # type: ignore[arg-type]  # each row names a field of its type
    (found,) = before_leaving(seen, "moonshift")
    assert bool(found.first) is has_to_be_done


def test_an_object_that_is_entirely_the_owners_is_not_mentioned() -> None:
    other = thing("v1", "Service")
    seen = Inventory(
        workloads=(deployment(),), services=(other,), routes=(other,), autoscalers=(other,)
    )
    assert before_leaving(seen, "moonshift") == ()


def test_a_kind_that_may_not_be_listed_leaves_the_question_open() -> None:
    assert not Findings(()).open
    assert Findings((), ("services: no",)).open
