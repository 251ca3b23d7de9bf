"""Reading a Deployment under a release, and the extra Deployment made from it."""

import re

import msgspec
import pytest

from controller.api.jsontree import JsonObject
from controller.api.names import (
    ADMISSION_PAUSE,
    CANARY_DEPLOYMENT,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    ROLLOUT_UID,
    TEMPLATE_HASH,
    WORKLOAD_TYPE,
)
from controller.api.rollout import OwnersValues, PatchMetadata
from controller.api.workloads import (
    Deployment,
    DeploymentMeta,
    ReplicaSet,
    label_value,
    template_hash,
)
from controller.domain.pods.canary import canary_deployment, canary_name
from controller.domain.pods.deployment import (
    admission_paused,
    paused_by_its_owner,
)
from controller.domain.pods.marks import hold_on
from tests.unit.builders import make_deployment

RECORD = '{"release":"r1","strategy":{"type":"RollingUpdate"},"minReadySeconds":7,"paused":true}'


def test_the_record_gives_the_owners_own_values() -> None:
    record = hold_on(make_deployment(annotations={ORIGINAL_STRATEGY: RECORD})).record
    assert record is not None
    assert record.release == "r1"
    values = record.values
    assert values.strategy is not None
    assert bytes(values.strategy) == b'{"type":"RollingUpdate"}'
    assert (values.min_ready_seconds, values.progress_deadline_seconds, values.paused) == (
        7,
        None,
        True,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"release":"r1"}', id="absent"),
        pytest.param('{"release":"r1","strategy":null}', id="null"),
    ],
)
def test_a_strategy_the_owner_did_not_write_is_none(text: str) -> None:
    record = hold_on(make_deployment(annotations={ORIGINAL_STRATEGY: text})).record
    assert record is not None
    assert record.values.strategy is None


@pytest.mark.parametrize("text", ["", "{", '"text"', '{"minReadySeconds":"x"}'])
def test_an_unreadable_record_is_no_record(text: str) -> None:
    assert hold_on(make_deployment(annotations={ORIGINAL_STRATEGY: text})).record is None


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        pytest.param('{"rolloutName":"web"}', "web", id="the mark names the Rollout"),
        pytest.param("{}", "", id="a mark without a name"),
        pytest.param("yes", "", id="an unreadable mark"),
    ],
)
def test_the_mark_names_the_rollout(text: str, owner: str) -> None:
    assert hold_on(make_deployment(annotations={IN_PROGRESSING: text})).rollout == owner


@pytest.mark.parametrize(
    ("paused", "token", "ours", "owners"),
    [
        pytest.param(True, True, True, False, id="paused with our token: admission pause"),
        pytest.param(True, False, False, True, id="paused without it: its owner's"),
        pytest.param(False, True, False, False, id="a token alone holds nothing"),
        pytest.param(False, False, False, False, id="running"),
    ],
)
def test_a_pause_is_ours_only_with_our_token(
    paused: bool, token: bool, ours: bool, owners: bool
) -> None:
    found = make_deployment(paused=paused, annotations={ADMISSION_PAUSE: "r1"} if token else {})
    assert admission_paused(found) is ours
    assert paused_by_its_owner(found) is owners


def made(owners: OwnersValues, patch: PatchMetadata) -> dict[str, object]:
    stable = make_deployment(labels={WORKLOAD_TYPE: "deployment"})
    body = canary_deployment(
        stable,
        name="web-x",
        replicas=3,
        made_from="t",
        rollout_uid="u",
        owners=owners,
        patch=patch,
        inherited={"team": "shop"},
    )
    found: dict[str, object] = msgspec.json.decode(body)
    return found


def test_the_extra_deployment_runs_at_the_owners_own_pace() -> None:
    owners = OwnersValues(
        strategy=msgspec.Raw(b'{"type":"RollingUpdate"}'),
        min_ready_seconds=5,
        progress_deadline_seconds=60,
    )
    body = made(owners, PatchMetadata())
    spec = body["spec"]
    assert isinstance(spec, dict)
    assert (spec["replicas"], spec["minReadySeconds"], spec["progressDeadlineSeconds"]) == (
        3,
        5,
        60,
    )
    assert spec["strategy"] == {"type": "RollingUpdate"}
    assert body["metadata"] == {
        "name": "web-x",
        "namespace": "shop",
        "labels": {"team": "shop", CANARY_DEPLOYMENT: "web", ROLLOUT_UID: "u"},
        "annotations": {TEMPLATE_HASH: "t"},
    }, "no ownerReference, and not the label that admission selects by"


def test_pods_of_the_extra_deployment_get_the_patched_metadata() -> None:
    patch = PatchMetadata(labels={"version": "canary"}, annotations={"a": "b"})
    body = made(OwnersValues(), patch)
    spec = body["spec"]
    assert isinstance(spec, dict)
    assert spec["template"]["metadata"] == {
        "labels": {"app": "web", "version": "canary"},
        "annotations": {"a": "b"},
    }
    assert "strategy" not in spec
    assert "progressDeadlineSeconds" not in spec


def test_the_extra_deployments_name_follows_from_the_release() -> None:
    stable = make_deployment()
    assert canary_name(stable, "t", "u") == canary_name(stable, "t", "u")
    assert canary_name(stable, "t", "u") != canary_name(stable, "t2", "u")
    assert len(canary_name(named("x" * 63), "t", "u")) <= 63


def named(name: str) -> Deployment:
    stable = make_deployment()
    return msgspec.structs.replace(
        stable, metadata=msgspec.structs.replace(stable.metadata, name=name)
    )


@pytest.mark.parametrize("name", ["x" * 63, "x" * 64, f"{'x' * 56}.{'y' * 60}", "a." * 126 + "b"])
def test_names_and_labels_of_the_extra_deployment_are_valid_for_a_name_of_any_length(
    name: str,
) -> None:
    part = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    assert re.fullmatch(rf"(?=.{{1,63}}$){part}(\.{part})*", canary_name(named(name), "t", "u"))
    assert re.fullmatch(r"(?=.{1,63}$)[a-z0-9]([-.a-z0-9]*[a-z0-9])?", label_value(name))
    assert label_value(name) != label_value(f"{name}c")


def test_the_extra_deployment_keeps_as_much_history_as_its_owner_does() -> None:
    stable = make_deployment()
    limited = msgspec.structs.replace(
        stable, spec=msgspec.structs.replace(stable.spec, revision_history_limit=2)
    )
    body = canary_deployment(
        limited,
        name="web-x",
        replicas=1,
        made_from="t",
        rollout_uid="u",
        owners=OwnersValues(),
        patch=PatchMetadata(),
    )
    assert msgspec.json.decode(body)["spec"]["revisionHistoryLimit"] == 2


def replica_set(revision: str, template: msgspec.Raw) -> tuple[ReplicaSet, str]:
    found = ReplicaSet(metadata=DeploymentMeta(labels={"pod-template-hash": revision}))
    return found, template_hash(template)


@pytest.mark.parametrize("expressions", [None, [{"key": "tier", "operator": "Exists"}]])
def test_the_extra_deployment_adopts_no_replica_set_that_the_workload_leaves(
    expressions: list[JsonObject] | None,
) -> None:
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
    stable, old = make_deployment(version="v2"), make_deployment(version="v1")
    spec = msgspec.structs.replace(stable.spec, selector=msgspec.Raw(msgspec.json.encode(selector)))
    body = canary_deployment(
        msgspec.structs.replace(stable, spec=spec),
        name="web-x",
        replicas=1,
        made_from="t",
        rollout_uid="u",
        owners=OwnersValues(),
        patch=PatchMetadata(),
        replica_sets=[
            replica_set("its-own", stable.spec.template),
            replica_set("old", old.spec.template),
        ],
    )
    assert msgspec.json.decode(body)["spec"]["selector"] == {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            *(expressions or ()),
            {"key": "pod-template-hash", "operator": "NotIn", "values": ["old"]},
        ],
    }
