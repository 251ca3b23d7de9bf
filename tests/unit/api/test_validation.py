"""Field rules, by the table of the original and by our own additions."""

import copy

import pytest

from controller.api.conversion import to_v1alpha1
from controller.api.jsontree import JsonObject, changed, child, items
from controller.api.names import (
    KEPT_V1BETA1,
    ROLLBACK_IN_BATCH,
    ROLLING_STYLE,
    V1ALPHA1,
    V1BETA1,
)
from controller.api.validation import validate
from controller.api.validation.findings import Fault
from controller.api.validation.rules import Rules
from controller.api.validation.warnings import warnings
from controller.api.validation.workload import uses_extra_workload


def beta(strategy: JsonObject, kind: str = "Deployment", version: str = "apps/v1") -> JsonObject:
    """A v1beta1 Rollout."""
    return {
        "apiVersion": V1BETA1,
        "kind": "Rollout",
        "metadata": {"name": "r"},
        "spec": {
            "workloadRef": {"apiVersion": version, "kind": kind, "name": "w"},
            "strategy": strategy,
        },
    }


def canary(*steps: JsonObject, **fields: object) -> JsonObject:
    """A canary strategy."""
    return {"canary": {"steps": list(steps), **fields}}


def texts(obj: JsonObject, rules: Rules | None = None) -> list[str]:
    """All findings as text."""
    return [str(finding) for finding in validate(obj, rules or Rules())]


EXTRA = {"enableExtraWorkloadForCanary": True}
CLONE_SET = ("CloneSet", "apps.kruise.io/v1alpha1")


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(
            beta(canary({"replicas": 1}, {"replicas": "50%"}, {"replicas": "100%"})), id="mixed"
        ),
        pytest.param(beta(canary({"replicas": 500})), id="many"),
        pytest.param(beta(canary({"replicas": 5}, {"replicas": "20%"})), id="not-comparable"),
        pytest.param(beta(canary({"replicas": "51%", "traffic": "1%"}, **EXTRA)), id="extra"),
        pytest.param(beta(canary({"replicas": 99, "traffic": "1%"})), id="integers-are-exempt"),
        pytest.param(beta(canary({"replicas": "50%", "traffic": "100%"})), id="limit-on-replicas"),
        pytest.param(beta(canary({"replicas": 1, "traffic": "0.5%"})), id="half-a-percent"),
        pytest.param(beta({"blueGreen": {"steps": [{"replicas": 1, "traffic": "0%"}]}}), id="zero"),
        pytest.param(beta(canary({"replicas": 1}), *CLONE_SET), id="clone-set"),
        pytest.param(
            beta(
                canary({"replicas": 1}, trafficRoutings=[{"service": "s", "customNetworkRefs": []}])
            ),
            id="empty-references",
        ),
        pytest.param(
            beta(
                canary(
                    {"replicas": 1},
                    trafficRoutings=[{"service": "s" * 56, "ingress": {"name": "i"}}],
                )
            ),
            id="canary-service-of-63-characters",
        ),
        pytest.param(
            beta(
                canary(
                    {"replicas": 1},
                    disableGenerateCanaryService=True,
                    trafficRoutings=[{"service": "s" * 63, "ingress": {"name": "i"}}],
                )
            ),
            id="no-canary-service",
        ),
    ],
)
def test_accepted(obj: JsonObject) -> None:
    assert texts(obj) == []


@pytest.mark.parametrize(
    ("obj", "found"),
    [
        (
            beta(canary({"replicas": "12.5%"})),
            "spec.strategy.canary.steps[0].replicas: Invalid value",
        ),
        (beta(canary({"replicas": True})), "spec: Invalid value"),
        (beta(canary({"replicas": 0})), "a step has at least one new pod"),
        (beta(canary({})), "spec.strategy.canary.steps[0].replicas: Required value"),
        (beta(canary({"replicas": 1, "traffic": "20"})), "steps[0].traffic: Invalid value"),
        (beta(canary({"replicas": 1, "traffic": "0%"})), "a percentage above 0%"),
        (beta(canary({"replicas": 1, "traffic": "0.125%"})), "at most two decimals"),
        (beta(canary({"replicas": 1, "traffic": "101%"})), "steps[0].traffic: Invalid value"),
        (beta(canary({"replicas": "50%"}, {"replicas": "20%"})), "20% after 50%"),
        (
            beta(canary({"replicas": 3}, {"replicas": 2})),
            "steps[1].replicas: Invalid value: 2 after 3",
        ),
        (beta(canary({"replicas": "51%", "matches": [{}]})), "more than 50%"),
        (beta(canary({"replicas": "51%", "traffic": "1%"}, **EXTRA), *CLONE_SET), "more than 50%"),
        (beta({"blueGreen": {"steps": [{"replicas": 2}, {"replicas": 1}]}}), "blueGreen.steps[1]"),
        (
            beta({"blueGreen": {"steps": [{"replicas": 1}]}}, "StatefulSet"),
            "cannot be released blue-green",
        ),
        (
            beta(canary({"replicas": 1}), "ConfigMap", "v1"),
            "ConfigMap of group core cannot be released",
        ),
        (
            beta(canary({"replicas": 1}), "Pod", "v1"),
            "name the workload that makes it (DaemonSet.apps",
        ),
        (beta(canary({"replicas": 1}), "Job", "batch/v1"), "a Job runs once and has no revisions"),
        (
            beta(canary({"replicas": 1}), "CronJob", "batch/v1"),
            "serve nobody; name a workload whose pods serve",
        ),
        (beta(canary({"replicas": 1}), "ReplicaSet"), "name the Deployment that owns it"),
        (
            beta(canary({"replicas": 1}, trafficRoutings=[{"service": "", "gateway": {}}])),
            "trafficRoutings[0].service: Required value",
        ),
        (
            beta(canary({"replicas": 1}, trafficRoutings=[{"service": "s", "ingress": {}}])),
            "trafficRoutings[0].ingress.name: Required value",
        ),
        (
            beta(
                canary(
                    {"replicas": 1},
                    trafficRoutings=[
                        {"service": "s", "gracePeriodSeconds": -1, "customNetworkRefs": []}
                    ],
                )
            ),
            "gracePeriodSeconds: Invalid value: -1",
        ),
        (
            beta(
                canary(
                    {"replicas": 1},
                    trafficRoutings=[{"service": "s" * 57, "ingress": {"name": "i"}}],
                )
            ),
            "trafficRoutings[0].service: Invalid value: the canary Service would be named",
        ),
        (
            beta(
                canary(
                    {"replicas": 1},
                    disableGenerateCanaryService=True,
                    trafficRoutings=[{"service": "s", "gateway": {"httpRouteName": "h"}}],
                )
            ),
            "trafficRoutings[0].gateway: Forbidden",
        ),
    ],
)
def test_refused(obj: JsonObject, found: str) -> None:
    assert found in "\n".join(texts(obj))


def test_an_administrator_may_change_the_limit_and_the_kinds() -> None:
    obj = beta(canary({"replicas": "80%", "traffic": "1%"}), "Thing", "example.com/v1")
    assert len(texts(obj, Rules(filter_workload_type=True))) == 2
    assert texts(obj, Rules(partition_percent_limit=80)) == []


def test_a_kind_that_is_known_by_its_label_alone_is_accepted_with_a_warning() -> None:
    obj = beta(canary({"replicas": 1}), "Thing", "example.com/v1")
    assert texts(obj) == []
    (lines,) = warnings(obj)
    assert lines.startswith("a Thing of group example.com is released only where")
    assert warnings(beta(canary({"replicas": 1}), "StatefulSet", "apps/v1")) == ()


def test_a_kind_that_is_not_given_is_refused_and_not_warned_of() -> None:
    obj = beta(canary({"replicas": 1}), "", "")
    assert any("workloadRef.kind" in text for text in texts(obj))
    assert warnings(obj) == ()


@pytest.mark.parametrize(
    ("strategy", "kind", "version", "why"),
    [
        (canary({"replicas": 1}), "Deployment", "apps/v1", "a Deployment goes back at once"),
        (canary({"replicas": 1}), "DaemonSet", "apps/v1", "a DaemonSet goes back at once"),
        (
            {"blueGreen": {"steps": []}},
            "CloneSet",
            "apps.kruise.io/v1alpha1",
            "under blue-green the way back is a switch",
        ),
        (
            canary({"replicas": 1}, trafficRoutings=[{"service": "s"}]),
            "StatefulSet",
            "apps/v1",
            "the traffic goes back first",
        ),
        (
            canary({"replicas": 1}, trafficRoutingRef="lane"),
            "StatefulSet",
            "apps/v1",
            "the traffic goes back first",
        ),
        (canary({"replicas": 1}), "StatefulSet", "apps/v1", ""),
        (canary({"replicas": 1}), "Cluster", "db.example/v1", ""),
    ],
)
def test_a_rollback_in_batches_that_cannot_be_is_warned_of(
    strategy: JsonObject, kind: str, version: str, why: str
) -> None:
    obj = beta(strategy, kind, version)
    before = warnings(obj)
    assert not any("has no effect" in text for text in before)
    asked = changed(obj, ("metadata", "annotations", ROLLBACK_IN_BATCH), "true")
    found = [text for text in warnings(asked) if text not in before]
    assert len(found) == bool(why)
    assert all("has no effect here" in text and why in text for text in found)


def test_warnings_name_changes_without_effect() -> None:
    shared = canary(
        {"replicas": 1},
        disableGenerateCanaryService=True,
        trafficRoutings=[{"service": "s", "ingress": {"name": "i"}}],
    )
    assert "Ingress cannot distinguish revisions" in warnings(beta(shared))[0]
    assert warnings(beta({"blueGreen": {"steps": []}})) == ()
    (idle,) = warnings(beta(canary({"replicas": 1}, {"replicas": 2}, {"replicas": 2})))
    assert idle.startswith("step 3 adds no pod")
    led = canary({"replicas": 2}, {"replicas": 2, "traffic": "5%"}, trafficRoutings=[ROUTING])
    assert warnings(beta(led)) == ()
    assert warnings(beta(canary({"replicas": 1}))) == ()
    assert warnings({"kind": "Rollout"}) == ()


def test_only_a_deployment_gets_an_extra_workload() -> None:
    assert uses_extra_workload(child(beta(canary({"replicas": 1}, **EXTRA)), "spec"))
    assert not uses_extra_workload(child(beta(canary(**EXTRA), *CLONE_SET), "spec"))


# --- v1alpha1 -----------------------------------------------------------------------------------


def alpha(*steps: JsonObject, style: str = "partition", **canary_fields: object) -> JsonObject:
    """A v1alpha1 Rollout."""
    return {
        "apiVersion": V1ALPHA1,
        "kind": "Rollout",
        "metadata": {"name": "r", "annotations": {ROLLING_STYLE: style}},
        "spec": {
            "objectRef": {
                "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
            },
            "strategy": {"canary": {"steps": list(steps), **canary_fields}},
        },
    }


ROUTING: JsonObject = {"service": "s", "ingress": {"name": "i"}}


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(alpha({"weight": 20}, {"weight": 50}), id="weights"),
        pytest.param(
            alpha({"weight": 20}, {"weight": 40}, {"weight": 40}, trafficRoutings=[ROUTING]),
            id="weights that do not go down",
        ),
        pytest.param(alpha({"weight": 80}, style="CANARY"), id="canary-has-no-limit"),
        pytest.param(alpha({"weight": 0, "replicas": 1}), id="weight-0-with-replicas"),
        pytest.param(
            alpha({"weight": 9, "replicas": 1}, {"weight": 5, "replicas": 2}), id="no-routing"
        ),
    ],
)
def test_accepted_in_v1alpha1(obj: JsonObject) -> None:
    assert texts(obj) == []


@pytest.mark.parametrize(
    ("obj", "found"),
    [
        (alpha({"weight": 20}, style="blue"), "canary or partition"),
        (alpha({}), "spec.strategy.canary.steps[0]: Required value: weight or replicas"),
        (alpha({"weight": 20}, {"weight": 10}), "steps[1].weight: Invalid value: 10% after 20%"),
        (alpha({"weight": 60}), "rollouts.kruise.io/rolling-style: canary"),
        (alpha({"weight": 0}), "spec.strategy.canary.steps[0].weight: Invalid value: 0"),
        (alpha({"weight": 60}), "more than 50%"),
        (
            alpha({"weight": 200, "replicas": 1}),
            "spec.strategy.canary.steps[0].weight: Invalid value",
        ),
        (
            alpha({"weight": 20}, {"weight": 10}, trafficRoutings=[ROUTING]),
            "weights do not go down",
        ),
        (alpha({"weight": 20}, {"replicas": "10%"}), "10% after 20%"),
        (
            alpha(
                {"weight": 1},
                disableGenerateCanaryService=False,
                trafficRoutings=[{**ROUTING, "createCanaryService": True}],
            ),
            "trafficRoutings[0].createCanaryService: Forbidden",
        ),
        (
            alpha(
                {"weight": 1}, trafficRoutings=[ROUTING, {**ROUTING, "createCanaryService": False}]
            ),
            "must be the same in all entries",
        ),
        (
            alpha(
                {"weight": 1},
                trafficRoutings=[{"service": "s", "customNetworkRefs": [], "networkRefs": []}],
            ),
            "trafficRoutings[0].networkRefs: Forbidden",
        ),
    ],
)
def test_refused_in_v1alpha1(obj: JsonObject, found: str) -> None:
    assert found in "\n".join(texts(obj))


@pytest.mark.parametrize(
    "obj",
    [
        alpha({"weight": 120}),
        alpha({"weight": 0}),
        alpha({"weight": 20}, {"weight": 10}, trafficRoutings=[ROUTING]),
        alpha({"weight": 200, "replicas": 1}),
        alpha({}),
    ],
)
def test_one_mistake_of_v1alpha1_is_reported_once(obj: JsonObject) -> None:
    assert len(texts(obj)) == 1, texts(obj)


def test_a_missing_strategy_is_named_as_v1alpha1_calls_it() -> None:
    obj = changed(alpha({"weight": 1}), ("spec", "strategy"), {})
    assert texts(obj) == ["spec.strategy.canary: Required value: says how to release"]


def test_a_missing_workload_is_named_as_v1alpha1_calls_it() -> None:
    obj = alpha({"weight": 1})
    assert (
        "spec.objectRef.workloadRef: Required" in texts(changed(obj, ("spec", "objectRef"), {}))[0]
    )
    unnamed = changed(obj, ("spec", "objectRef", "workloadRef", "name"), None)
    assert texts(unnamed)[0].startswith("spec.objectRef.workloadRef.name: Required")


def test_settings_in_an_annotation_are_judged_too() -> None:
    obj = to_v1alpha1(beta({"blueGreen": {"steps": [{"replicas": 1}]}}))
    assert texts(obj) == []
    smuggled = copy.deepcopy(obj)
    annotations = child(smuggled, "metadata", "annotations")
    annotations[KEPT_V1BETA1] = str(annotations[KEPT_V1BETA1]).replace(
        '"replicas":1', '"replicas":[]'
    )
    assert "spec: Invalid value" in "\n".join(texts(smuggled))
    assert items(child(smuggled), "nothing") == []


def test_a_workload_reference_must_be_complete() -> None:
    obj = changed(beta(canary({"replicas": 1})), ("spec", "workloadRef"), {"kind": "Deployment"})
    assert [text.split(": ")[0] for text in texts(obj)] == [
        "spec.workloadRef.apiVersion",
        "spec.workloadRef.name",
    ]


def test_a_gateway_needs_a_route_and_an_entry_needs_a_leader() -> None:
    entries: list[JsonObject] = [{"service": "s", "gateway": {}}, {"service": "t"}]
    found = "\n".join(texts(beta(canary({"replicas": 1}, trafficRoutings=entries))))
    assert "trafficRoutings[0].gateway.httpRouteName: Required value" in found
    assert "trafficRoutings[1]: Required value: one of ingress" in found


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [({}, "Required value"), ({**canary(), "blueGreen": {"steps": []}}, "Invalid value")],
)
def test_there_is_exactly_one_strategy(strategy: JsonObject, kind: str) -> None:
    assert texts(beta(strategy)) == [
        f"spec.strategy: {kind}: exactly one of canary and blueGreen says how to release"
    ]


@pytest.mark.parametrize("style", ["canary", "blueGreen"])
def test_a_pause_below_zero_is_warned_of(style: str) -> None:
    steps = [{"replicas": 1, "pause": {"duration": -5}}, {"replicas": 2, "pause": {"duration": 0}}]
    (lines,) = warnings(beta({style: {"steps": steps}}))
    assert lines.startswith("step 1 has a pause of -5 seconds")


def test_a_number_where_a_percentage_is_wanted_is_reported_once_in_the_words_of_its_author() -> (
    None
):
    for obj in (
        alpha({"replicas": 1, "traffic": 20}),
        beta(canary({"replicas": 1, "traffic": 20})),
    ):
        (finding,) = validate(obj)
        assert finding.path == "spec.strategy.canary.steps[0].traffic"
        assert finding.detail.endswith('write "20%" for a share')


@pytest.mark.parametrize("written", ["²", "9" * 5000, "20%\n", "٢٠%"])
def test_digits_that_are_no_plain_number_are_a_finding(written: str) -> None:
    for plan in (canary({"replicas": written}), canary({"replicas": 1, "traffic": written})):
        (finding,) = validate(beta(plan))
        assert finding.kind is Fault.INVALID


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"progressDeadlineSeconds": 10**18}, "spec.strategy.canary.progressDeadlineSeconds"),
        (
            {
                "analysis": {
                    "metrics": [{"job": {"timeoutSeconds": 10**18, "spec": {"aSeconds": 10**18}}}]
                }
            },
            "spec.strategy.canary.analysis.metrics[0].job.timeoutSeconds",
        ),
    ],
)
def test_no_time_is_longer_than_ten_years(fields: JsonObject, path: str) -> None:
    found = texts(beta(canary({"replicas": 1}, **fields)))
    assert found == [f"{path}: Invalid value: {10**18} seconds; 315360000 (ten years) is the most"]


def test_no_pause_is_longer_than_ten_years() -> None:
    (found,) = texts(beta(canary({"replicas": 1, "pause": {"duration": 10**18}})))
    assert found.startswith("spec.strategy.canary.steps[0].pause.duration: Invalid value")
    longest = {"replicas": 1, "pause": {"duration": 315360000}}
    assert texts(beta(canary(longest, analysis={"metrics": [{"dryRun": True}]}))) == []
