from typing import Any

import msgspec
import pytest
from msgspec import structs

from controller.cli.render.words import hint
from controller.cli.views.look import look_at, summary_of
from controller.cli.views.view import Role
from controller.domain.availability import Forbidden
from controller.kube.resources import ENDPOINT_SLICES, PODS, REPLICA_SETS, Resource
from tests.unit.cli.builders import (
    NEW,
    NOW,
    OLD,
    ago,
    make_observation,
    make_pod,
    make_rollout,
    make_service,
    make_slice,
)


def test_the_summary_says_where_the_release_is() -> None:
    found = summary_of(make_rollout())
    assert (found.phase, found.step, found.steps, found.state) == (
        "Progressing",
        1,
        3,
        "StepPaused",
    )
    assert (found.workload, found.stable_revision, found.canary_revision) == (
        "Deployment/web",
        OLD,
        NEW,
    )
    assert (found.canary_ready_replicas, found.canary_replicas) == (1, 2)
    assert found.since is not None
    assert (NOW - found.since).total_seconds() == 90


def test_a_stall_counts_from_the_time_at_which_it_began() -> None:
    stall = {"type": "Stalled", "status": "True", "lastTransitionTime": ago(7)}
    found = summary_of(make_rollout(conditions=[stall]))
    assert found.stalled
    assert found.since is not None
    assert (NOW - found.since).total_seconds() == 7


def test_pods_are_sorted_into_revisions_and_batches() -> None:
    pods = (
        make_pod("b", NEW, batch="10"),
        make_pod("a", NEW, batch="2", ready=False),
        make_pod("s", OLD),
        make_pod("x", "lost"),
    )
    view = look_at(make_observation(pods=pods), NOW, {})
    assert [(r.role, r.revision, r.wanted) for r in view.revisions] == [
        (Role.STABLE, OLD, None),
        (Role.CANARY, NEW, 2),
        (Role.OTHER, "lost", None),
    ]
    canary = view.revisions[1]
    assert [(pod.name, pod.batch) for pod in canary.pods] == [("a", "2"), ("b", "10")]
    assert canary.ready == 1


def test_at_rest_the_running_revision_is_stable() -> None:
    rollout = make_rollout(phase="Healthy", state="Completed")
    view = look_at(make_observation(rollout, pods=(make_pod("a", NEW),)), NOW, {})
    assert [(r.role, r.revision) for r in view.revisions] == [(Role.STABLE, NEW)]
    assert view.next == ""
    assert {step.mark for step in view.steps} == {"to come"}


def test_services_show_the_revision_of_their_pin() -> None:
    pod = make_pod("a", NEW)
    view = look_at(
        make_observation(
            pods=(pod,),
            services=(make_service("web", OLD), make_service("web-canary", NEW)),
            slices=(make_slice("web-canary", pod),),
        ),
        NOW,
        {},
    )
    assert [(s.name, s.role, s.pinned_to, s.endpoints) for s in view.services] == [
        ("web", Role.STABLE, OLD, 0),
        ("web-canary", Role.CANARY, NEW, 1),
    ]


def test_a_missing_stable_service_is_shown_and_an_unreadable_one_is_a_gap() -> None:
    missing = look_at(make_observation(), NOW, {})
    assert [(s.name, s.exists) for s in missing.services] == [("web", False)]
    unread = look_at(make_observation(), NOW, {"services": Forbidden("forbidden")})
    assert unread.services == ()
    assert unread.gaps == ("services: forbidden",)


@pytest.mark.parametrize("kind", [PODS, REPLICA_SETS])
def test_pods_that_cannot_be_read_are_not_counted_as_none(kind: Resource) -> None:
    unread = look_at(
        make_observation(make_rollout(state="StepUpgrade")), NOW, {kind.name: Forbidden("no")}
    )
    assert unread.revisions == ()
    assert "0 made" not in unread.summary.waits_for


def test_endpoints_that_cannot_be_read_are_not_counted_as_none() -> None:
    unread = look_at(make_observation(), NOW, {ENDPOINT_SLICES.name: Forbidden("no")})
    assert [(service.name, service.endpoints) for service in unread.services] == [("web", None)]


def test_a_workload_that_is_not_known_is_shown_by_the_status_alone() -> None:
    seen = structs.replace(make_observation(make_rollout(kind="CloneSet")), workload=None)
    view = look_at(seen, NOW, {})
    assert (view.replicas, view.revisions) == (None, ())
    assert view.summary.workload == "CloneSet/web"


def test_conditions_and_approvals_are_reported() -> None:
    rollout = make_rollout(
        conditions=[{"type": "Ready", "status": "False", "lastTransitionTime": ago(5)}],
        approvals=[{"step": 1, "by": "jane", "at": ago(100)}],
    )
    view = look_at(make_observation(rollout), NOW, {})
    assert [(c.type, c.status) for c in view.conditions] == [("Ready", "False")]
    assert [(a.step, a.by) for a in view.approvals] == [(1, "jane")]


def test_the_view_as_json_has_the_names_scripts_read() -> None:
    data: dict[str, Any] = msgspec.to_builtins(look_at(make_observation(), NOW, {}))
    assert data["summary"]["waitsFor"] == "an approval"
    assert data["summary"]["canaryReadyReplicas"] == 1
    assert [step["mark"] for step in data["steps"]] == ["now", "to come", "to come"]


def test_a_digest_of_ours_is_no_name_of_a_revision() -> None:
    early = make_rollout(canary={"podTemplateHash": ""})
    assert summary_of(early).canary_revision == ""
    of_a_set = make_rollout(kind="StatefulSet", canary={"podTemplateHash": ""})
    assert summary_of(of_a_set).canary_revision == "hash-new"


def test_revisions_are_named_by_their_images() -> None:
    pods = (make_pod("a", NEW), make_pod("s", OLD), make_pod("x", "lost"))
    found = look_at(make_observation(pods=pods), NOW, {}).revisions
    assert [(r.revision, r.images) for r in found] == [
        (OLD, "web:1"),
        (NEW, "web:2"),
        ("lost", ""),
    ]


def test_without_stable_pods_an_approval_still_helps() -> None:
    stall = {"type": "Stalled", "status": "True", "reason": "SideWithoutEndpoints"}
    command = "moonshift approve web -n shop"
    assert hint(summary_of(make_rollout(conditions=[stall])), "moonshift") == command
    working = make_rollout(conditions=[stall], state="StepUpgrade")
    other = make_rollout(conditions=[{**stall, "reason": "ServiceNotFound"}])
    assert [hint(summary_of(r), "moonshift") for r in (working, other)] == ["", ""]
