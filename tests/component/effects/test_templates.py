"""Restored templates: from the object that keeps them, if it is the expected one."""

from typing import Any

import msgspec
import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.names import IN_PROGRESSING
from controller.api.workload_kinds import DEPLOYMENT, KindName
from controller.api.workloads import template_hash
from controller.domain.decision import Done, Refusal, RevertTemplate, WriteTemplate
from controller.effects.kept_revisions import keep
from controller.effects.reverts import revert, write_template
from controller.effects.writes import Writes
from controller.errors import Conflict
from controller.kube.resources import CONTROLLER_REVISIONS, DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS
from tests.component.effects.api_double import ApiDouble, LedgerDouble
from tests.component.effects.test_kept_revisions import keeping, owner
from tests.component.effects.test_stamps import KEY, TEMPLATE, rollout, running, workload

DAEMON_SET = KindName("apps/v1", "DaemonSet")
STABLE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "img:v0"}]},
}
HELD = {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 1}}


def temporary_template(generation: int = 7) -> WriteTemplate:
    strategy = msgspec.Raw(msgspec.json.encode(HELD))
    return WriteTemplate(DAEMON_SET, KEY, generation, Key("shop", "web-0"), strategy)


def with_revision(api: ApiDouble) -> ApiDouble:
    data = {"spec": {"template": {"$patch": "replace", **STABLE}}}
    api.put(CONTROLLER_REVISIONS, {"metadata": {"name": "web-0"}, "data": data, "revision": 1})
    return api


async def test_a_template_is_written_with_the_strategy_that_holds_the_set() -> None:
    api = with_revision(ApiDouble())
    api.put(DAEMON_SETS, workload(DAEMON_SET, updateStrategy={"type": "RollingUpdate"}))
    outcome = await write_template(Writes(api, LedgerDouble()), DAEMON_SETS, temporary_template())
    assert outcome == Done(wrote=True)
    stored = api.one(DAEMON_SETS, "web")
    assert stored["spec"]["template"] == STABLE
    assert stored["spec"]["updateStrategy"] == HELD
    assert IN_PROGRESSING not in stored["metadata"].get("annotations", {})


async def test_a_late_template_changes_nothing() -> None:
    api = with_revision(ApiDouble())
    api.put(DAEMON_SETS, workload(DAEMON_SET))
    with pytest.raises(Conflict):
        await write_template(Writes(api, LedgerDouble()), DAEMON_SETS, temporary_template(6))
    assert api.writes == []


async def test_a_template_that_nothing_keeps_is_reported() -> None:
    api = ApiDouble()
    api.put(DAEMON_SETS, workload(DAEMON_SET))
    outcome = await write_template(Writes(api, LedgerDouble()), DAEMON_SETS, temporary_template())
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, outcome.object) == ("TemplateGone", "ControllerRevision shop/web-0")
    assert api.writes == []


def reverting(source: str = "", template: str = "") -> RevertTemplate:
    return RevertTemplate(DEPLOYMENT, KEY, 7, Key("shop", source), (running(),), template)


async def test_the_template_that_a_release_kept_comes_back_held() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, workload())
    await keep(Writes(api, LedgerDouble()), keeping())
    action = structs.replace(reverting(source="web-kept-x"), kept=True)
    outcome = await revert(Writes(api, LedgerDouble()), DEPLOYMENTS, action, owner())
    assert outcome == Done(wrote=True)
    stored = api.one(DEPLOYMENTS, "web")
    assert stored["spec"]["template"] == STABLE
    assert stored["spec"]["paused"] is True


async def test_what_a_release_kept_and_somebody_deleted_is_reported() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, workload())
    action = structs.replace(reverting(source="web-kept-x"), kept=True)
    outcome = await revert(Writes(api, LedgerDouble()), DEPLOYMENTS, action, owner())
    assert isinstance(outcome, Refusal)
    assert outcome.object == "ControllerRevision shop/web-kept-x"


async def test_a_replica_set_with_another_template_is_not_taken() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, workload())
    api.put(REPLICA_SETS, {"metadata": {"name": "web-0"}, "spec": {"template": TEMPLATE}})
    action = reverting(source="web-0", template=template_hash(msgspec.json.encode(STABLE)))
    outcome = await revert(Writes(api, LedgerDouble()), DEPLOYMENTS, action, rollout())
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "TemplateGone"


async def test_a_missing_replica_set_is_reported() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, workload())
    action = reverting(source="web-0")
    outcome = await revert(Writes(api, LedgerDouble()), DEPLOYMENTS, action, rollout())
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "TemplateGone"
    assert api.one(DEPLOYMENTS, "web")["spec"]["template"] == TEMPLATE


async def test_the_template_of_a_replica_set_comes_back() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, workload())
    api.put(REPLICA_SETS, {"metadata": {"name": "web-0"}, "spec": {"template": STABLE}})
    action = reverting(source="web-0")
    outcome = await revert(Writes(api, LedgerDouble()), DEPLOYMENTS, action, rollout())
    assert outcome == Done(wrote=True)
    assert api.one(DEPLOYMENTS, "web")["spec"]["template"] == STABLE
