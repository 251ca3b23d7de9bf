"""Commands as a person types them: what is sent, what is said, how they end."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.component.cli.double import (
    DEPLOYMENTS,
    REPLICA_SETS,
    ROLLOUTS,
    Cluster,
    cluster,
    make_rollout,
)
from tests.component.kube.faulty_server import event, status

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kruise-rollout/leases"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
READY = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
SUCCEEDED = {"type": "Succeeded", "status": "True"}
CANCELED = {"type": "Succeeded", "status": "False"}
STALLED = {"type": "Stalled", "status": "True", "reason": "ServiceNotFound", "message": "no web"}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("rollout approve rollout/web", id="as kubectl-kruise"),
        pytest.param("approve web", id="short"),
        pytest.param("approve ro web", id="type and name"),
        pytest.param("-n default approve rollouts.rollouts.kruise.io/web", id="namespace first"),
        pytest.param("rollout -n other approve web -n default", id="the innermost namespace wins"),
    ],
)
async def test_an_approval_is_one_patch_of_the_status(tmp_path: Path, line: str) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run(*line.split())
    assert (result.exit_code, result.output) == (0, "rollout.rollouts.kruise.io/web approved\n")
    assert api.patches == [(f"{ROLLOUTS}/web/status", MERGE, READY)]


async def test_nothing_is_sent_where_nothing_waits(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        result = await api.run("approve", "web")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: Rollout default/web is at step 1/2 in StepUpgrade")
    assert api.patches == []


async def test_several_are_approved_as_far_as_possible(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api")) as api:
        result = await api.run("approve", "nope", "web", "none", "api")
    assert result.exit_code == 1
    assert result.stdout.count("approved") == 2
    assert result.stderr.count("error: there is no Rollout") == 2


async def test_an_exact_approval_tests_the_step(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(step=2)) as api:
        result = await api.run("approve", "web", "--step", "2")
        refused = await api.run("approve", "web", "--step", "1")
    assert result.exit_code == 0
    ((path, content_type, operations),) = api.patches
    assert (path, content_type) == (f"{ROLLOUTS}/web/status", JSON)
    assert [operation["op"] for operation in operations] == ["test", "test", "add"]
    assert operations[2]["value"]["step"] == 2
    assert refused.exit_code == 1
    assert "at step 2/2 (StepPaused), not at step 1" in refused.stderr


async def test_a_message_goes_with_an_approval_of_the_step_that_waits(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(step=2)) as api:
        result = await api.run("approve", "web", "--message", "load test")
    assert result.exit_code == 0
    ((_, content_type, operations),) = api.patches
    assert content_type == JSON
    assert operations[0] == {"op": "test", "path": "/status/moonshift/step", "value": 2}
    assert (operations[2]["value"]["step"], operations[2]["value"]["message"]) == (2, "load test")


async def test_an_exact_approval_that_loses_the_race_approves_nothing(tmp_path: Path) -> None:
    said = "the server rejected our request due to an error in our request"
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["PATCH", f"{ROLLOUTS}/web/status"] = (422, status(422, "Invalid", said))
        result = await api.run("approve", "web", "--step", "1")
    assert result.exit_code == 1
    assert "changed meanwhile; nothing was approved" in result.stderr


def pending(version: str) -> dict[str, Any]:
    """The mailbox holds an approval that nobody has read."""
    rollout = make_rollout(version=version)
    rollout["status"]["canaryStatus"]["currentStepState"] = "StepReady"
    return rollout


async def test_wait_ends_when_the_controller_went_on(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.after_patch[f"{ROLLOUTS}/web"] = pending("6")
        api.changes_to(make_rollout(step=2, state="StepUpgrade", version="7"))
        result = await api.run("approve", "web", "--wait")
    assert result.exit_code == 0
    assert result.output.splitlines()[1] == (
        "rollout.rollouts.kruise.io/web is at step 2/2 (StepUpgrade)"
    )


async def test_wait_says_when_the_approval_was_put_back(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.after_patch[f"{ROLLOUTS}/web"] = pending("6")
        api.changes_to(make_rollout(version="7"))
        result = await api.run("approve", "web", "--wait")
    assert result.exit_code == 1
    assert "put the approval back" in result.stderr


async def test_wait_says_when_no_controller_answers(tmp_path: Path) -> None:
    pending = make_rollout()
    pending["status"]["moonshift"]["approval"] = {"step": 1}
    async with cluster(tmp_path, pending) as api:
        result = await api.run("approve", "web", "--wait", "--timeout", "100ms")
    assert result.exit_code == 5
    assert "was not taken up within 0.1 s: no Lease kruise-rollout" in result.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("get web", 0, id="get"),
        pytest.param("approve web", 0, id="approve"),
        pytest.param("status web --until approval", 0, id="status"),
        pytest.param("status web --timeout 50ms", 5, id="status in vain"),
    ],
)
async def test_it_is_said_when_no_controller_is_at_work(
    tmp_path: Path, line: str, code: int
) -> None:
    spec = {"leaseDurationSeconds": 15, "renewTime": "2026-05-04T12:00:00.000000Z"}
    lease = {"metadata": {"name": "71ddec2c.kruise.io"}, "spec": spec}
    async with cluster(tmp_path, make_rollout()) as api:
        api.collections[LEASES] = [lease]
        result = await api.run(*line.split())
    assert result.exit_code == code
    assert "no controller is at work" in result.output


def without_the_right(api: Cluster) -> None:
    """Who asks may not read the controller's Lease."""
    denied = (
        'leases.coordination.k8s.io "71ddec2c.kruise.io" is forbidden: User "jane" cannot get resource "leases" in '
        'API group "coordination.k8s.io" in the namespace "kruise-rollout"'
    )
    path = f"{LEASES}/71ddec2c.kruise.io"
    api.overrides["GET", path] = (403, status(403, "Forbidden", denied))


NOT_KNOWN = (
    "you may not read the Lease kruise-rollout/71ddec2c.kruise.io, "
    "so whether a controller is at work is not known"
)


def standing(**more: Any) -> dict[str, Any]:
    """Of a release in whose status nothing has happened for months."""
    rollout = make_rollout(**more)
    rollout["status"]["moonshift"]["stateSince"] = "2026-05-04T12:00:00Z"
    return rollout


@pytest.mark.parametrize(
    "line",
    ["get web", "why web", "describe web", "status web --no-watch", "status web --timeout 100ms"],
)
async def test_of_a_release_that_stands_still_who_may_not_read_the_lease_is_told_so(
    tmp_path: Path, line: str
) -> None:
    async with cluster(tmp_path, standing(state="StepUpgrade")) as api:
        without_the_right(api)
        said = (await api.run(*line.split())).output
    assert NOT_KNOWN in said
    assert "no controller" not in said


async def test_an_approval_says_that_nobody_may_be_there_to_take_it_up(tmp_path: Path) -> None:
    taken = standing()
    taken["status"]["canaryStatus"]["currentStepState"] = "StepReady"
    async with cluster(tmp_path, standing()) as api:
        without_the_right(api)
        sent = await api.run("approve", "web")
        api.collections[ROLLOUTS] = [taken]
        refused = await api.run("approve", "web")
    assert (sent.exit_code, sent.stderr) == (0, f"warning: {NOT_KNOWN}\n")
    assert refused.exit_code == 1
    assert f"the controller has not taken it up yet; {NOT_KNOWN}" in refused.stderr


async def test_a_status_that_waited_in_vain_says_so(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        without_the_right(api)
        said = await api.run("status", "web", "--timeout", "100ms")
    assert said.exit_code == 5
    assert said.stderr.count(NOT_KNOWN) == 1


@pytest.mark.parametrize(
    "rollout",
    [
        pytest.param(standing(), id="a person is waited for"),
        pytest.param(standing(state="StepUpgrade", paused=True), id="paused by a person"),
        pytest.param(standing(phase="Healthy"), id="at rest"),
        pytest.param(make_rollout(state="StepUpgrade"), id="nobody knows for how long"),
    ],
)
async def test_where_it_does_not_matter_the_lease_is_not_spoken_of(
    tmp_path: Path, rollout: dict[str, Any]
) -> None:
    async with cluster(tmp_path, rollout) as api:
        without_the_right(api)
        said = [
            await api.run(*line.split()) for line in ("get web", "get", "status web --no-watch")
        ]
    assert not any("Lease" in result.output for result in said)


async def test_a_jump_tests_the_step_it_leaves(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(step=1)) as api:
        result = await api.run("jump", "rollout/web", "--to", "2")
    assert (result.exit_code, result.output) == (
        0,
        "rollout.rollouts.kruise.io/web jumps from step 1 to step 2\n",
    )
    ((path, content_type, operations),) = api.patches
    assert (path, content_type) == (f"{ROLLOUTS}/web/status", JSON)
    assert operations == [
        {"op": "test", "path": "/status/moonshift/step", "value": 1},
        {"op": "add", "path": "/status/moonshift/jump", "value": 2},
    ]


async def test_a_jump_that_loses_the_race_moves_nothing(tmp_path: Path) -> None:
    said = "the server rejected our request due to an error in our request"
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["PATCH", f"{ROLLOUTS}/web/status"] = (422, status(422, "Invalid", said))
        result = await api.run("jump", "web", "--to", "2")
    assert result.exit_code == 1
    assert "it did not jump: look, then repeat" in result.stderr


@pytest.mark.parametrize(
    ("to", "edit", "why"),
    [
        ("3", {}, "has steps 1 to 2, no step 3"),
        ("2", {"phase": "Healthy"}, "has no release under way (Healthy)"),
        ("2", {"moonshift": {}}, "is not led by Moonshift"),
        ("2", {"moonshift": {"state": "Completed", "goal": "Success"}}, "is past its steps"),
    ],
)
async def test_a_jump_to_nowhere_is_refused(
    tmp_path: Path, to: str, edit: dict[str, Any], why: str
) -> None:
    rollout = make_rollout()
    rollout["status"].update(edit)
    async with cluster(tmp_path, rollout) as api:
        result = await api.run("jump", "web", "--to", to)
    assert result.exit_code == 1
    assert why in result.stderr
    assert api.patches == []


HISTORIES = "/apis/rollouts.kruise.io/v1alpha1/namespaces/default/rollouthistories"


def record(name: str, ended: str, outcome: str) -> dict[str, Any]:
    """A release that was written down."""
    return {
        "metadata": {"name": name, "namespace": "default"},
        "status": {
            "phase": "completed",
            "revision": name,
            "outcome": outcome,
            "endedAt": ended,
            "workingSeconds": 12,
            "waitingSeconds": 3600,
            "approvals": [{"step": 1, "by": "ann"}, {"step": 2, "by": "ann"}],
            "canarySteps": [
                {"canaryStepIndex": 1, "visits": [{"step": 1}]},
                {"canaryStepIndex": 2},
            ],
        },
    }


async def test_history_lists_the_newest_release_first(tmp_path: Path) -> None:
    items = [
        record("older", "2026-01-01T00:00:00Z", "Succeeded"),
        record("newer", "2026-02-01T00:00:00Z", "RolledBack"),
    ]
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["GET", HISTORIES] = (200, {"metadata": {}, "items": items})
        result = await api.run("history", "web")
    assert result.exit_code == 0
    head, first, second = result.output.splitlines()
    assert head.split()[:4] == ["RELEASE", "OUTCOME", "STEPS", "WORKED"]
    assert first.split()[:7] == ["newer", "RolledBack", "1/2", "12s", "60m", "-", "ann"]
    assert second.split()[0] == "older"


async def test_history_shows_how_the_gates_of_steps_ended(tmp_path: Path) -> None:
    item = record("web1", "2026-01-01T00:00:00Z", "RolledBack")
    item["status"]["canarySteps"] = [
        {"canaryStepIndex": 1, "visits": [{"step": 1, "analysis": "Passed: 1 of 1 passed"}]},
        {"canaryStepIndex": 2, "visits": [{"step": 2, "analysis": "Failed: errors"}, {"step": 2}]},
    ]
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["GET", HISTORIES] = (200, {"metadata": {}, "items": [item]})
        result = await api.run("history", "web")
        data = await api.run("history", "web", "-o", "json")
    assert "1 Passed, 2 Failed" in result.output
    assert json.loads(data.output)[0]["status"]["canarySteps"][1]["visits"][0] == {
        "step": 2,
        "analysis": "Failed: errors",
    }


async def test_history_says_why_there_is_none(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["GET", HISTORIES] = (200, {"metadata": {}, "items": []})
        result = await api.run("history", "web")
    assert result.exit_code == 1
    assert "--feature-gates=RolloutHistory=true" in result.stderr


async def test_a_retry_lets_go_of_the_revision_that_was_seen(tmp_path: Path) -> None:
    rollout = make_rollout()
    rollout["status"]["moonshift"]["failedTemplate"] = "abc"
    async with cluster(tmp_path, rollout, make_rollout(name="api")) as api:
        result = await api.run("retry", "web")
        nothing = await api.run("retry", "api")
    assert (
        result.output
        == "rollout.rollouts.kruise.io/web: the revision that was given up may be tried again\n"
    )
    place = "/status/moonshift/failedTemplate"
    ((path, content_type, operations),) = api.patches
    assert (path, content_type) == (f"{ROLLOUTS}/web/status", JSON)
    assert operations == [
        {"op": "test", "path": place, "value": "abc"},
        {"op": "remove", "path": place},
    ]
    assert nothing.exit_code == 1
    assert "has given no revision up" in nothing.stderr


async def test_a_retry_measures_a_gate_again_that_failed(tmp_path: Path) -> None:
    rollout = make_rollout()
    rollout["status"]["moonshift"]["analyses"] = [{"step": 1, "verdict": "Failed"}]
    async with cluster(tmp_path, rollout) as api:
        result = await api.run("retry", "web")
    assert result.output == "rollout.rollouts.kruise.io/web: its metrics are measured again\n"
    ((_, _, operations),) = api.patches
    assert operations == [{"op": "remove", "path": "/status/moonshift/analyses"}]


async def test_pause_and_resume_are_the_originals_patches(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api", paused=True)) as api:
        paused = await api.run("pause", "web")
        again = await api.run("rollout", "pause", "api")
        resumed = await api.run("resume", "api")
        not_paused = await api.run("resume", "web")
    assert paused.output == "rollout.rollouts.kruise.io/web paused\n"
    assert again.stderr == 'error: rollouts.rollouts.kruise.io "api" is already paused\n'
    assert resumed.output == "rollout.rollouts.kruise.io/api resumed\n"
    assert not_paused.exit_code == again.exit_code == 1
    assert [body for _, _, body in api.patches] == [
        {"spec": {"strategy": {"paused": True}}},
        {"spec": {"strategy": {"paused": None}}},
    ]


# --- status -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "code", "text"),
    [
        (make_rollout(phase="Healthy", conditions=[SUCCEEDED], version="6"), 0, "is completed"),
        (make_rollout(phase="Healthy", conditions=[CANCELED], version="6"), 3, "rolled back"),
        (make_rollout(conditions=[STALLED], version="6"), 4, "ServiceNotFound: no web"),
    ],
)
async def test_status_waits_for_the_outcome(
    tmp_path: Path, last: dict[str, Any], code: int, text: str
) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        api.changes_to(last)
        result = await api.run("status", "web", "--timeout", "20s")
    assert result.exit_code == code
    assert "step 1/2 StepUpgrade" in result.output
    assert text in result.output
    assert len([r for r in api.server.listed if r.path == f"{ROLLOUTS}/web"]) == 1


async def test_status_gives_up_with_a_code_of_its_own(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        result = await api.run("status", "web", "--timeout", "100ms")
    assert result.exit_code == 5
    assert "has not ended within 0.1 s: Progressing, step 1/2, waits for" in result.stderr


async def test_status_until_approval_hands_over_to_a_person(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("status", "web", "--until", "approval")
    assert result.exit_code == 0
    assert "waits for an approval (kubectl moonshift approve web -n default)" in result.output


@pytest.mark.parametrize(
    ("rollout", "code"),
    [
        (make_rollout(), 0),
        (make_rollout(conditions=[STALLED]), 4),
        (make_rollout(phase="Healthy", conditions=[CANCELED]), 3),
    ],
)
async def test_status_without_watching_only_looks(
    tmp_path: Path, rollout: dict[str, Any], code: int
) -> None:
    async with cluster(tmp_path, rollout) as api:
        result = await api.run("status", "web", "--no-watch")
    assert result.exit_code == code
    assert api.server.watched == []


async def test_status_of_a_deleted_rollout_fails(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        gone = event("DELETED", make_rollout(version="6"))
        api.events[ROLLOUTS] = [gone]
        result = await api.run("status", "web", "--timeout", "20s")
    assert result.exit_code == 1
    assert "was deleted" in result.stderr


# --- undo ---------------------------------------------------------------------------------------


def template(image: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "x", **labels}}, "spec": {"image": image}}


def with_workload(api: Cluster) -> None:
    selector = {"matchLabels": {"app": "x"}}
    workload = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u", "generation": 4},
        "spec": {"selector": selector, "template": template("new")},
    }
    replica_set = {
        "metadata": {
            "name": "app-old1",
            "labels": {"pod-template-hash": "old1"},
            "ownerReferences": [{"uid": "u", "controller": True}],
        },
        "spec": {"template": template("old", **{"pod-template-hash": "old1"})},
    }
    api.collections[DEPLOYMENTS] = [workload]
    api.collections[REPLICA_SETS] = [replica_set]


async def test_undo_writes_the_stable_template_over_the_generation_it_saw(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        result = await api.run("rollout", "undo", "rollout/web")
    assert (result.exit_code, result.output) == (0, "rollout.rollouts.kruise.io/web rolled back\n")
    assert api.patches == [
        (
            f"{DEPLOYMENTS}/app",
            JSON,
            [
                {"op": "test", "path": "/metadata/generation", "value": 4},
                {"op": "replace", "path": "/spec/template", "value": template("old")},
            ],
        )
    ]


async def test_a_dry_run_asks_the_server_only(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        result = await api.run("undo", "web", "--dry-run")
    assert "rolled back (server dry run)" in result.output
    assert [r.query["dryRun"] for r in api.server.requests if r.method == "PATCH"] == ["All"]


async def test_undo_without_a_workload_says_so(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("undo", "web")
    assert result.exit_code == 1
    assert result.stderr == "error: Deployment default/app does not exist\n"


STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
CLONE_SETS = "/apis/apps.kruise.io/v1alpha1/namespaces/default/clonesets"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
SERVED = {
    "/apis/apps/v1": ("statefulsets", "StatefulSet"),
    "/apis/apps.kruise.io/v1alpha1": ("clonesets", "CloneSet"),
}


def of_kind(api_version: str, kind: str, stable: str) -> dict[str, Any]:
    """A Rollout of another kind of workload."""
    rollout = make_rollout()
    ref = {"apiVersion": api_version, "kind": kind, "name": "app"}
    rollout["spec"]["workloadRef"] = ref
    rollout["status"]["moonshift"]["stableRevision"] = stable
    return rollout


def with_set(api: Cluster, collection: str) -> None:
    """A set of pods of the image `new`, and the revision that keeps `old`; one of another owner besides."""
    selector = {"matchLabels": {"app": "x"}}
    pod_set = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u", "generation": 4},
        "spec": {"selector": selector, "template": template("new")},
    }
    revisions = [
        {
            "metadata": {
                "name": "app-old1",
                "ownerReferences": [{"uid": owner, "controller": True}],
            },
            "data": {"spec": {"template": {"$patch": "replace", **template(image)}}},
        }
        for owner, image in (("u", "old"), ("another", "foreign"))
    ]
    api.collections |= {collection: [pod_set], REVISIONS: revisions}
    for path, (plural, kind) in SERVED.items():
        api.overrides["GET", path] = (200, {"resources": [{"name": plural, "kind": kind}]})


@pytest.mark.parametrize(
    ("rollout", "collection"),
    [
        (of_kind("apps/v1", "StatefulSet", "app-old1"), STATEFUL_SETS),
        (of_kind("apps.kruise.io/v1alpha1", "CloneSet", "old1"), CLONE_SETS),
    ],
)
async def test_undo_of_a_set_writes_what_its_stable_revision_keeps(
    tmp_path: Path, rollout: dict[str, Any], collection: str
) -> None:
    async with cluster(tmp_path, rollout) as api:
        with_set(api, collection)
        result = await api.run("undo", "web")
    assert (result.exit_code, result.output) == (0, "rollout.rollouts.kruise.io/web rolled back\n")
    ((path, kind, (tested, written)),) = api.patches
    assert (path, kind) == (f"{collection}/app", JSON)
    assert tested == {"op": "test", "path": "/metadata/generation", "value": 4}
    assert written == {"op": "replace", "path": "/spec/template", "value": template("old")}


async def test_undo_of_a_kind_that_is_not_served_or_not_released_says_so(tmp_path: Path) -> None:
    async with cluster(tmp_path, of_kind("apps/v1", "ReplicaSet", "old1")) as api:
        with_set(api, REPLICA_SETS)
        unserved = await api.run("undo", "web")
        kinds = {"resources": [{"name": "replicasets", "kind": "ReplicaSet"}]}
        api.overrides["GET", "/apis/apps/v1"] = (200, kinds)
        unreleased = await api.run("undo", "web")
    assert "is not served by this cluster" in unserved.stderr
    assert "is not of a kind that is released" in unreleased.stderr
    assert api.patches == []


# --- get, describe, version ---------------------------------------------------------------------


async def test_the_table_lists_what_is_there(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api")) as api:
        table = await api.run("get")
        data = await api.run("get", "rollouts", "-o", "json")
        empty = await api.run("get", "-n", "default", "-o", "wide")
    assert [line.split()[0] for line in table.output.splitlines()] == ["NAME", "api", "web"]
    assert [item["name"] for item in json.loads(data.output)["items"]] == ["api", "web"]
    assert "WORKLOAD" in empty.output


async def test_an_empty_namespace_is_said_on_standard_error(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        result = await api.run("get")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "No Rollouts in namespace default.\n"


async def test_what_may_not_be_read_is_named_in_the_tree(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        denied = status(
            403,
            "Forbidden",
            'deployments.apps is forbidden: User "j" cannot list resource "deployments" in API group "apps" '
            'in the namespace "default"',
        )
        api.overrides["GET", DEPLOYMENTS] = (403, denied)
        result = await api.run("get", "web")
    assert result.exit_code == 0
    assert (
        "not shown: deployments.apps: forbidden: user j may not list deployments" in result.output
    )


async def test_describe_tells_the_plan_and_survives_unreadable_events(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("describe", "rollout/web")
        data = await api.run("describe", "web", "-o", "yaml")
    assert result.exit_code == 0
    assert "  >   1      50%        no routes   until approved" in result.output
    assert "not shown: events: not found" in result.output
    assert "waitsFor: an approval" in data.output


async def test_why_is_a_few_lines_for_people_and_fields_for_programs(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("why", "rollout/web")
        data = await api.run("why", "web", "-o", "json")
    lines = result.output.splitlines()
    assert lines[0].startswith("Rollout default/web  Progressing  step 1/")
    assert lines[1].startswith("waits for an approval")
    assert "! cannot be seen: events: not found" in result.output
    found = json.loads(data.output)
    assert found["waitsFor"] == "an approval"
    assert found["command"].endswith("approve web -n default")


async def test_versions_are_told_as_far_as_they_are_known(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        api.overrides["GET", "/version"] = (200, {"gitVersion": "v1.35.0"})
        result = await api.run("version")
        only = await api.run("version", "--client")
    assert "server:     v1.35.0" in result.output
    assert "controller: not known (not found" in result.output
    assert only.output.startswith("client: ")
