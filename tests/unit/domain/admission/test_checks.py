"""Checks are admitted only with what their scripts need, at places where they are asked."""

import pytest

from controller.api.jsontree import JsonObject
from controller.api.names import V1BETA1
from controller.domain.admission.accounts import accounts_of_rollout
from controller.domain.admission.rollout import admit_rollout
from controller.domain.traffic.plan.header import Declared, ScriptHeader

HEADER = ScriptHeader(
    does="check",
    params=(Declared("address"), Declared("status", needed=False)),
    secrets=(Declared("token"),),
)
GOOD: JsonObject = {
    "name": "c",
    "script": "http",
    "params": {"address": "http://a/"},
    "secrets": {"token": {"name": "s", "key": "k"}},
}


def known(does: str, name: str) -> ScriptHeader | None:
    return HEADER if (does, name) == ("check", "http") else None


def rollout(
    *checks: JsonObject,
    start: tuple[JsonObject, ...] = (),
    style: str = "canary",
    steps: list[JsonObject] | None = None,
) -> JsonObject:
    """A Rollout whose second and last step has these checks."""
    plan = steps or [{"replicas": "50%"}, {"replicas": "100%", "checks": list(checks)}]
    return {
        "apiVersion": V1BETA1,
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "strategy": {style: {"steps": plan, "checks": list(start)}},
        },
    }


def refused(obj: JsonObject) -> str:
    return admit_rollout(None, obj, (), asking=known).message


@pytest.mark.parametrize("style", ["canary", "blueGreen"])
def test_a_check_with_all_that_its_script_needs_is_admitted(style: str) -> None:
    verdict = admit_rollout(
        None, rollout({**GOOD, "at": "end"}, start=(GOOD,), style=style), (), asking=known
    )
    assert (verdict.findings, verdict.warnings) == ((), ())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"params": {}}, "the script needs the parameter address (--@params)"),
        (
            {"params": {"addressx": "x"}},
            "the script has no parameter addressx, did you mean address?",
        ),
        ({"secrets": {}}, "the script needs the secret token (--@secrets)"),
        ({"params": {"address": ["x"]}}, "a parameter is a text, a number, true or false"),
        ({"name": ""}, "name: Required value: its name in messages"),
        ({"script": ""}, "script: Required value: the script to ask"),
        ({"at": "after"}, "'after': it is one of before, routed, end, rollback"),
    ],
)
def test_a_mistaken_check_is_refused_at_its_place(change: JsonObject, words: str) -> None:
    found = refused(rollout({**GOOD, **change}))
    assert "spec.strategy.canary.steps[1].checks[0]" in found
    assert words in found


def test_two_checks_of_a_list_have_two_names() -> None:
    assert "checks[1].name: Duplicate value: c is a check of this list" in refused(
        rollout(GOOD, GOOD)
    )


def test_a_check_at_the_end_is_in_the_last_step() -> None:
    early = [{**GOOD, "at": "before"}, {**GOOD, "name": "d", "at": "end"}]
    found = refused(rollout(steps=[{"replicas": "50%", "checks": early}, {"replicas": "100%"}]))
    assert "steps[0].checks[1].at: Invalid value: the end is that of the release" in found


def test_a_check_of_the_strategy_has_one_place() -> None:
    found = refused(rollout(start=({**GOOD, "at": "before"},)))
    assert "spec.strategy.canary.checks[0].at: Forbidden" in found


def test_a_script_that_does_not_exist_yet_is_a_warning() -> None:
    verdict = admit_rollout(None, rollout({**GOOD, "script": "mine"}), (), asking=known)
    assert verdict.findings == ()
    assert verdict.warnings == (
        (
            "spec.strategy.canary.steps[1].checks[0].script: there is no check mine: it holds the release until the "
            "key lua.check.mine is in the ConfigMap of scripts"
        ),
    )


def test_the_account_of_a_namespaces_own_script_is_one_that_its_author_must_be_allowed_to_use() -> (
    None
):
    own: JsonObject = {
        **GOOD,
        "script": "mine",
        "scriptRef": {"name": "s", "serviceAccountName": "asker"},
    }
    (found,) = accounts_of_rollout(None, rollout(own))
    assert found.account == "asker"
    assert found.path == "spec.strategy.canary.steps[1].checks[0].scriptRef.serviceAccountName"
    assert accounts_of_rollout(rollout(own), rollout(own)) == ()
    assert admit_rollout(None, rollout(own), (), asking=known).warnings == ()
