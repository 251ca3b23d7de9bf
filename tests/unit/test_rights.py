"""The rights in the tests come from the audit logs of API servers: the user, and whether the authorizer allowed it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rights import MANIFESTS, UNUSED_ON_PURPOSE, Right, granted, main, never_used, used

LIST_PODS = Right("", "pods", "list")
PATCH_STATUS = Right("rollouts.kruise.io", "rollouts/status", "patch")
CONTROLLER = "system:serviceaccount:kruise-rollout:kruise-rollout-controller-manager"


def record(
    right: Right,
    *,
    user: str = CONTROLLER,
    agent: str = "moonshift-controller (a)",
    decision: str = "allow",
) -> str:
    """One line of an audit log."""
    resource, _, subresource = right.resource.partition("/")
    event: dict[str, Any] = {
        "stage": "ResponseComplete",
        "verb": right.verb,
        "stageTimestamp": "2026-01-01T00:00:00.000000Z",
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        "user": {"username": user},
        "userAgent": agent,
        "objectRef": {"resource": resource, "subresource": subresource, "apiGroup": right.group},
        "annotations": {"authorization.k8s.io/decision": decision},
    }
    return f"{json.dumps(event)}\n"


def logged(folder: Path, *lines: str) -> Path:
    """A folder as a run leaves it, with one audit log."""
    (folder / "worker" / "plane").mkdir(parents=True)
    (folder / "worker" / "plane" / "audit.jsonl").write_text("".join(lines))
    return folder


def test_requests_are_counted_by_right_with_the_subresource(tmp_path: Path) -> None:
    lines = [record(LIST_PODS), record(LIST_PODS), record(PATCH_STATUS)]
    assert used([logged(tmp_path, *lines)]) == {LIST_PODS: 2, PATCH_STATUS: 1}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(record(LIST_PODS, decision="forbid"), id="a request that was refused"),
        pytest.param(
            record(LIST_PODS, user="developer"), id="an administrator, who needs no right"
        ),
        pytest.param(record(LIST_PODS, agent="moonshift-cli/1"), id="a person's client"),
    ],
)
def test_a_right_is_not_used_by(line: str, tmp_path: Path) -> None:
    assert not used([logged(tmp_path, line)])


def test_an_admission_that_refuses_has_needed_the_right(tmp_path: Path) -> None:
    line = record(LIST_PODS).replace('"stage"', '"responseStatus": {"code": 403}, "stage"')
    assert used([logged(tmp_path, line)]) == {LIST_PODS: 1}


def test_a_right_that_no_request_needed_is_named(tmp_path: Path) -> None:
    assert never_used([LIST_PODS, PATCH_STATUS], used([logged(tmp_path, record(LIST_PODS))])) == [
        PATCH_STATUS
    ]


def test_the_shipped_roles_are_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert granted(MANIFESTS)[PATCH_STATUS] == {"kruise-rollout-manager-role"}
    assert set(UNUSED_ON_PURPOSE) <= set(granted(MANIFESTS))
    assert main([str(logged(tmp_path, record(PATCH_STATUS)))]) == 1
    assert "list pods: kruise-rollout-manager-role" in capsys.readouterr().out
    assert main([str(tmp_path / "nothing here")]) == 2
