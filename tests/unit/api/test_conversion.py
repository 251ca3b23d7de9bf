"""Conversion loses nothing, whatever is written in either version."""

import copy

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller.api import conversion
from controller.api.conversion import Unconvertible, _merged_lists, _merged_objects, converted
from controller.api.jsontree import JsonObject, canonical, child, items, same, text
from controller.api.names import (
    KEPT_V1ALPHA1,
    KEPT_V1BETA1,
    REQUESTED_ROLLOUT_ID,
    ROLLING_STYLE,
    V1ALPHA1,
    V1BETA1,
)
from tests.articles import ARTICLE


def up(obj: JsonObject) -> JsonObject:
    """`obj` in v1beta1; it must be possible."""
    result = converted(obj, V1BETA1)
    assert not isinstance(result, Unconvertible)
    return result


def down(obj: JsonObject) -> JsonObject:
    """`obj` in v1alpha1."""
    result = converted(obj, V1ALPHA1)
    assert not isinstance(result, Unconvertible)
    return result


# --- any object ---------------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "20%", "0.5%", "150%", "x%", ""])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 120), WORDS)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)


def some(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[JsonObject]:
    """Objects with any of the fields, sometimes with one that nobody knows or a value of a wrong type."""
    wild = st.dictionaries(st.sampled_from(["unknown", *fields]), ANYTHING, max_size=1)
    known = st.fixed_dictionaries({}, optional=fields)
    return st.one_of(known, st.builds(lambda a, b: {**a, **b}, known, wild))


MATCH = some(
    headers=st.lists(some(name=WORDS, value=WORDS), max_size=2),
    path=some(value=WORDS),
    queryParams=st.lists(some(name=WORDS), max_size=1),
    method=WORDS,
)
STEP = some(
    weight=st.integers(-5, 120),
    traffic=WORDS,
    replicas=st.one_of(st.integers(0, 9), WORDS),
    matches=st.lists(MATCH, max_size=2),
    pause=some(duration=st.integers(0, 9)),
)
REFERENCE = some(apiVersion=WORDS, kind=WORDS, name=WORDS, script=WORDS, params=some(a=SCALARS))
ROUTING = some(
    service=WORDS,
    gracePeriodSeconds=st.integers(0, 9),
    ingress=REFERENCE,
    gateway=REFERENCE,
    customNetworkRefs=st.lists(REFERENCE, max_size=2),
    networkRefs=st.lists(REFERENCE, max_size=2),
    createCanaryService=st.booleans(),
)
CANARY = some(
    steps=st.lists(STEP, max_size=3),
    trafficRoutings=st.lists(ROUTING, max_size=2),
    disableGenerateCanaryService=st.booleans(),
    enableExtraWorkloadForCanary=st.booleans(),
    trafficRoutingRef=WORDS,
    patchPodTemplateMetadata=some(labels=some(a=WORDS)),
)
STRATEGY = some(paused=st.booleans(), canary=CANARY, blueGreen=CANARY)
WORKLOAD = st.just({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
METADATA = st.builds(
    lambda annotations: {"name": "r", "annotations": annotations} if annotations else {"name": "r"},
    st.dictionaries(
        st.sampled_from(
            [ROLLING_STYLE, "rollouts.kruise.io/trafficrouting", REQUESTED_ROLLOUT_ID, "mine"]
        ),
        st.sampled_from(["canary", "Partition", "partition", "x", ""]),
    ),
)
STATUS = some(phase=WORDS, currentStepIndex=st.integers(0, 9), moonshift=ANYTHING)


def rollouts(version: str, spec: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    """Rollouts of a version."""
    return st.fixed_dictionaries(
        {
            "apiVersion": st.just(version),
            "kind": st.just("Rollout"),
            "metadata": METADATA,
            "spec": spec,
        },
        optional={"status": STATUS},
    )


ALPHA = rollouts(
    V1ALPHA1,
    st.builds(
        lambda rest, ref: {**rest, "objectRef": {"workloadRef": ref}},
        some(disabled=st.booleans(), rolloutID=WORDS, strategy=STRATEGY),
        WORKLOAD,
    ),
)
BETA = rollouts(
    V1BETA1,
    st.builds(
        lambda rest, ref: {**rest, "workloadRef": ref},
        some(disabled=st.booleans(), strategy=STRATEGY),
        WORKLOAD,
    ),
)


@given(ALPHA)
def test_v1alpha1_reads_back_as_it_was_written(obj: JsonObject) -> None:
    assert same(down(up(obj)), obj)


@given(BETA)
def test_v1beta1_survives_being_read_and_written_by_an_old_client(obj: JsonObject) -> None:
    assert same(up(down(obj)), obj)


@given(ALPHA)
def test_reading_does_not_change_the_stored_object(obj: JsonObject) -> None:
    stored = up(obj)
    assert same(up(down(stored)), stored)


SERVED_STEP: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {},
    optional={
        "weight": st.integers(-5, 120),
        "replicas": st.one_of(st.integers(0, 9), WORDS),
        "matches": st.lists(st.fixed_dictionaries({"headers": st.just([])}), max_size=2),
    },
)
"""Steps as the schema of v1alpha1 lets them through."""


@given(BETA, SERVED_STEP)
def test_an_edit_by_an_old_client_is_stored_as_written(obj: JsonObject, step: JsonObject) -> None:
    read = down(obj)
    edited = copy.deepcopy(read)
    canary = child(edited, "spec", "strategy", "canary")
    if not items(canary, "steps"):
        return
    items(canary, "steps")[0] = step
    again = down(up(edited))
    assert same(again["spec"], edited["spec"])


@given(BETA)
def test_conversion_leaves_its_argument_alone(obj: JsonObject) -> None:
    before = copy.deepcopy(obj)
    up(down(obj))
    assert same(obj, before)


# --- the fields ---------------------------------------------------------------------------------


def article() -> JsonObject:
    """The manifest that the project's source article prints, indentation repaired."""
    found: JsonObject = yaml.safe_load(ARTICLE)
    return found


def test_the_articles_spellings_become_the_fields_they_mean() -> None:
    canary = child(up(article()), "spec", "strategy", "canary")
    assert canary["disableGenerateCanaryService"] is True
    assert canary["enableExtraWorkloadForCanary"] is True
    entry = child(items(canary, "trafficRoutings")[0])
    assert len(items(entry, "customNetworkRefs")) == 2
    assert not {"networkRefs", "createCanaryService"} & entry.keys()
    assert [child(step).get("replicas") for step in items(canary, "steps")] == ["20%", 1]
    assert child(items(canary, "steps")[0])["traffic"] == "20%"


def test_rollout_id_survives() -> None:
    obj = article()
    child(obj, "spec")["rolloutID"] = "r-7"
    stored = up(obj)
    assert text(stored, "metadata", "annotations", REQUESTED_ROLLOUT_ID) == "r-7"
    assert child(down(stored), "spec")["rolloutID"] == "r-7"


def test_without_a_style_annotation_a_v1alpha1_rollout_is_canary_style() -> None:
    obj = article()
    del child(obj, "metadata")["annotations"]
    canary = child(up(obj), "spec", "strategy", "canary")
    assert canary["enableExtraWorkloadForCanary"] is True
    assert "annotations" not in child(down(up(obj)), "metadata")


@pytest.mark.parametrize("style", ["partition", "Partition", "PARTITION"])
def test_partition_style_is_recognised_in_any_case(style: str) -> None:
    obj = article()
    child(obj, "metadata", "annotations")[ROLLING_STYLE] = style
    assert "enableExtraWorkloadForCanary" not in child(up(obj), "spec", "strategy", "canary")


def beta(strategy: JsonObject) -> JsonObject:
    """A v1beta1 Rollout."""
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": V1BETA1,
        "kind": "Rollout",
        "metadata": {"name": "r"},
        "spec": {"workloadRef": workload, "strategy": strategy},
    }


def test_blue_green_survives_an_old_client_that_edits_a_label() -> None:
    obj = beta({"blueGreen": {"steps": [{"replicas": "100%", "traffic": "0%"}]}})
    read = down(obj)
    assert "canary" not in child(read, "spec", "strategy")
    child(read, "metadata")["labels"] = {"team": "a"}
    child(read, "spec")["disabled"] = True
    written = up(read)
    assert (
        child(written, "spec", "strategy")["blueGreen"]
        == child(obj, "spec", "strategy")["blueGreen"]
    )
    assert child(written, "spec")["disabled"] is True
    assert KEPT_V1BETA1 not in child(written, "metadata", "annotations")


def test_a_path_match_survives_an_edit_of_another_step() -> None:
    path = {"path": {"type": "Exact", "value": "/new"}}
    obj = beta({"canary": {"steps": [{"replicas": 1, "matches": [path]}, {"replicas": 2}]}})
    read = down(obj)
    steps = items(child(read, "spec", "strategy", "canary"), "steps")
    assert steps[0] == {"replicas": 1, "matches": [{}]}
    child(steps[1])["replicas"] = 3
    steps.append({"replicas": 4})
    written = items(child(up(read), "spec", "strategy", "canary"), "steps")
    assert written == [{"replicas": 1, "matches": [path]}, {"replicas": 3}, {"replicas": 4}]


def test_a_v1beta1_edit_outranks_the_kept_spelling() -> None:
    stored = up(article())
    steps = items(child(stored, "spec", "strategy", "canary"), "steps")
    child(steps[0])["traffic"] = "30%"
    read = items(child(down(stored), "spec", "strategy", "canary"), "steps")
    assert read[0] == {"weight": 30, "replicas": "20%"}


def test_an_edit_of_an_untouched_part_keeps_the_spelling_of_the_rest() -> None:
    stored = up(article())
    child(stored, "spec")["disabled"] = True
    entry = child(items(child(down(stored), "spec", "strategy", "canary"), "trafficRoutings")[0])
    assert "networkRefs" in entry
    assert entry["createCanaryService"] is False


def test_an_approval_through_v1alpha1_keeps_the_rest_of_the_status() -> None:
    stored = up(article())
    status: JsonObject = {
        "currentStepIndex": 1,
        "currentStepState": "StepPaused",
        "canaryStatus": {"currentStepState": "StepPaused", "nextStepIndex": 2},
        "moonshift": {"step": 1},
    }
    read = down({**stored, "status": status})
    child(read, "status", "canaryStatus")["currentStepState"] = "StepReady"
    written = child(up(read), "status")
    assert child(written, "canaryStatus") == {"currentStepState": "StepReady", "nextStepIndex": 2}
    assert child(written, "moonshift") == {"step": 1}


@pytest.mark.parametrize("kept", ["", "nonsense", "[]", '{"spec": 3}', '{"spec": {}}', "null"])
def test_a_broken_annotation_is_ignored(kept: str) -> None:
    obj = article()
    child(obj, "metadata", "annotations")[KEPT_V1BETA1] = kept
    assert same(up(obj)["spec"], up(article())["spec"])


@pytest.mark.parametrize(
    "reference", [None, {}, {"workloadRef": None}], ids=["absent", "empty", "null"]
)
def test_a_missing_workload_reference_is_a_failure_with_a_text(reference: object) -> None:
    obj = article()
    child(obj, "spec")["objectRef"] = reference
    answer = converted(obj, V1BETA1)
    assert isinstance(answer, Unconvertible)
    assert "spec.objectRef.workloadRef is missing" in answer.message


def test_other_kinds_and_versions_are_refused() -> None:
    assert isinstance(converted({**article(), "kind": "BatchRelease"}, V1BETA1), Unconvertible)
    assert isinstance(converted(article(), "rollouts.kruise.io/v2"), Unconvertible)
    assert converted(article(), V1ALPHA1) == article()


def test_the_spelling_is_kept_only_where_it_is_needed() -> None:
    obj = down(beta({"canary": {"steps": [{"replicas": 1}]}}))
    child(obj, "metadata")["annotations"] = {ROLLING_STYLE: "partition"}
    assert KEPT_V1ALPHA1 not in child(up(obj), "metadata", "annotations")


def test_a_reference_edited_by_an_old_client_keeps_its_own_fields() -> None:
    references = [
        {"apiVersion": "x/v1", "kind": "K", "name": name, "params": {"n": name}} for name in "ab"
    ]
    entry = {"service": "s", "customNetworkRefs": references}
    obj = beta({"canary": {"steps": [{"replicas": 1}], "trafficRoutings": [entry]}})
    read = down(obj)
    seen = items(child(read, "spec", "strategy", "canary"), "trafficRoutings")
    kept = items(seen[0], "customNetworkRefs")
    kept.pop(0)
    kept.append({"apiVersion": "x/v1", "kind": "K", "name": "c"})
    written = items(child(up(read), "spec", "strategy", "canary"), "trafficRoutings")
    assert items(written[0], "customNetworkRefs") == [
        references[1],
        {"apiVersion": "x/v1", "kind": "K", "name": "c"},
    ]


def test_kept_fields_never_contradict_the_incoming_object() -> None:
    """A user can write the annotation, too."""
    obj = down(beta({"canary": {"steps": [{"replicas": 1}]}}))
    annotations = child(obj, "metadata", "annotations")
    annotations[KEPT_V1BETA1] = '{"spec":{"workloadRef":{"kind":"Pod"},"strategy":{"canary":{}}}}'
    written = up(obj)
    assert items(child(written, "spec", "strategy", "canary"), "steps") == [{"replicas": 1}]
    assert child(written, "spec", "workloadRef")["kind"] == "Deployment"


def test_a_list_that_changed_its_length_on_both_sides_is_the_editors() -> None:
    assert _merged_lists([{"a": 1}], [{"a": 2}], [{"a": 1}, {"b": 1}]) == [{"a": 2}]


def test_a_field_the_keeper_lost_and_the_editor_changed_is_the_editors() -> None:
    assert _merged_objects({"a": 1, "b": 1}, {"a": 2, "b": 1}, {}) == {"a": 2}


def test_a_kept_part_that_the_editor_took_away_does_not_come_back() -> None:
    kept = '{"spec":{"disabled":false,"strategy":{"canary":{}},"workloadRef":{"name":"web"}}}'
    reference: JsonObject = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    written = up(
        {
            "apiVersion": V1ALPHA1,
            "kind": "Rollout",
            "metadata": {
                "name": "r",
                "annotations": {ROLLING_STYLE: "partition", KEPT_V1BETA1: kept},
            },
            "spec": {"objectRef": {"workloadRef": reference}},
        }
    )
    assert child(written, "spec", "workloadRef") == reference
    assert "canary" not in child(written, "spec", "strategy")


def test_a_long_list_that_was_turned_round_costs_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compared each with each, a forged list of 20 000 entries would keep a processor busy for minutes."""
    compared: list[object] = []

    def counted(value: object) -> bytes:
        compared.append(value)
        return canonical(value)

    monkeypatch.setattr(conversion, "canonical", counted)
    base: list[object] = [{"name": str(index)} for index in range(500)]
    assert _merged_lists(base, base[::-1], base) == base[::-1]
    assert len(compared) <= 3 * len(base)
