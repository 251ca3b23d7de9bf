"""The suggested commands for each reason that stops a release."""

import shlex

import pytest
from msgspec import structs

from controller.cli.output import plain
from controller.cli.remedies import mentions
from controller.cli.remedies.remedy_table import TABLE, remedies
from controller.cli.render.why import answer
from controller.cli.views.problems import problems_of, why
from controller.cli.views.view import (
    ConditionView,
    GateMetricView,
    GateView,
    PodView,
    RevisionView,
    Role,
    RolloutView,
    SharedRoutesView,
    Summary,
)
from controller.cli.views.waiting import APPROVAL, NODES, NOTHING, PAUSE_OF_STEP, REPLICAS
from controller.domain import reasons
from controller.telemetry.state.stalls import StallClass, stall_class
from tests.unit.cli.builders import NOW

KUBECTL = "kubectl moonshift"
SUMMARY = Summary(
    "shop", "web", "Progressing", 2, 3, "StepUpgrade", "pods", "Deployment/web", "apps", since=NOW
)
QUIET = RolloutView(SUMMARY)


def stalled(reason: str, message: str = "", **of_summary: object) -> RolloutView:
    """A view that is Stalled."""
    summary = structs.replace(SUMMARY, stalled=True, waits_for=f"{reason}: {message}", **of_summary)
    return RolloutView(summary, conditions=(ConditionView("Stalled", "True", reason, message),))


def typed(view: RolloutView) -> list[str]:
    return [remedy.command for remedy in remedies(view, KUBECTL)]


def every_reason() -> list[str]:
    """Reasons that Stalled can have, as far as any code distinguishes them."""
    constants = {value for name, value in vars(reasons).items() if name.isupper()}
    known = {reason for reason in constants if stall_class(reason) is not StallClass.OTHER}
    return sorted(known)


@pytest.mark.parametrize("reason", every_reason())
def test_every_reason_of_a_stall_has_commands_of_its_own(reason: str) -> None:
    assert reason in TABLE
    found = typed(stalled(reason, "Service shop/web is not as it has to be"))
    assert found
    assert all(command.startswith("kubectl ") for command in found)


@pytest.mark.parametrize("reason", sorted(TABLE))
def test_no_command_destroys_anything(reason: str) -> None:
    words = {word for command in typed(stalled(reason, "x")) for word in command.split()}
    assert not words & {"delete", "replace", "--force", "scale", "drain"}


@pytest.mark.parametrize("reason", sorted(TABLE))
def test_a_reason_without_a_readable_message_still_has_a_command(reason: str) -> None:
    assert typed(stalled(reason))


@pytest.mark.parametrize(
    ("reason", "missed", "goes_back"),
    [
        ("ServiceSelectsNoPod", "the new pods, and the end of the release would leave it", True),
        (
            "ServiceSelectsNoPod",
            "the stable pods, and the end of the release would leave it",
            False,
        ),
        ("SideWithoutEndpoints", "the 4 ready pods of the stable revision, correct it", False),
    ],
)
def test_a_service_that_selects_none_of_the_ready_pods_is_the_first_thing_to_edit(
    reason: str, missed: str, goes_back: bool
) -> None:
    """A rollback helps only if it leads to pods that the Service selects."""
    view = stalled(reason, f"Service shop/web: its selector app=web,rel=b matches none of {missed}")
    found = typed(view)
    assert found[0] == "kubectl edit service web -n shop"
    assert ("kubectl moonshift undo web -n shop" in found) is goes_back


FORBIDDEN = (
    'horizontalpodautoscalers.autoscaling "web" is forbidden: User "system:serviceaccount:a:b" cannot patch resource '
    '"horizontalpodautoscalers" in API group "autoscaling" in the namespace "shop"'
)


@pytest.mark.parametrize(
    ("reason", "message", "first"),
    [
        (
            "CrashLoopBackOff",
            "step(1): of 1 new pods 0 ready; pod web-1: container main ends with exit code 1 (Error)",
            "kubectl logs web-1 -c main --previous -n shop",
        ),
        (
            "Unschedulable",
            "step(1): of 1 new pods 0 ready; pod web-1: 0/4 nodes are available",
            "kubectl describe pod web-1 -n shop",
        ),
        (
            "ProgressDeadlineExceeded",
            "step(1) has taken more than 5 s; pod web-1: container main: image x cannot be pulled",
            "kubectl describe pod web-1 -n shop",
        ),
        (
            "FailedCreate",
            'step(1): of 1 new pods 0 made, 0 ready; pods "web-…" is forbidden: exceeded quota: pods',
            "kubectl describe resourcequota -n shop",
        ),
        (
            "FailedCreate",
            "step(1): of 1 new pods 0 made, 0 ready; a policy says no",
            "kubectl describe deployment/web -n shop",
        ),
        ("Forbidden", FORBIDDEN, "kubectl apply -k deploy/kustomize"),
        (
            "Forbidden",
            f"{FORBIDDEN} (examples: deploy/kustomize/gateways)",
            "kubectl apply -k deploy/kustomize/gateways",
        ),
        ("Forbidden", "a policy says no", "kubectl moonshift describe web -n shop"),
        ("Invalid", "a policy says no", "kubectl moonshift describe web -n shop"),
        ("WebhookFailed", "x", "kubectl get validatingwebhookconfigurations"),
        (
            "Forbidden",
            'pods "web-1" is forbidden: exceeded quota: pods',
            "kubectl describe resourcequota -n shop",
        ),
        ("ServiceNotFound", "Service shop/web does not exist", "kubectl apply -f FILE -n shop"),
        ("PausedByOwner", "Deployment shop/web is paused", "kubectl rollout resume deployment/web"),
        ("AnalysisFailed", "the metrics of step(1) failed", "kubectl moonshift undo web -n shop"),
        ("Never heard of", "", "kubectl moonshift describe web -n shop"),
    ],
)
def test_the_first_command_is_about_the_obstacle(reason: str, message: str, first: str) -> None:
    assert typed(stalled(reason, message))[0].startswith(first)


@pytest.mark.parametrize(
    ("there", "first"),
    [
        (", which does not exist", "kubectl create configmap kruise-rollout-configuration"),
        ("", "kubectl edit configmap kruise-rollout-configuration -n kruise-rollout"),
    ],
)
def test_a_script_is_stored_in_the_place_where_the_lookup_finds_it(there: str, first: str) -> None:
    where = (
        "key lua.traffic.routing.Lane.lanes.example.dev of ConfigMap kruise-rollout-configuration"
    )
    found = typed(stalled("ScriptNotFound", f"Lane shop/web: no script for Lane in {where}{there}"))
    assert found[0].startswith(first)
    key = "--from-file=lua.traffic.routing.Lane.lanes.example.dev=FILE"
    assert (key in found[0]) is bool(there)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("ServiceNotFound", "Service shop/web does not exist"),
        ("GatewayObjectNotFound", "VirtualService shop/web does not exist"),
        ("TrafficRoutingNotFound", "TrafficRouting shop/lane does not exist"),
        ("KindNotServed", "Lane (lanes.example.dev/v1) is not served by this cluster"),
        ("ServiceWithoutSelector", "Service shop/web has no selector"),
        ("ScriptNotFound", "Lane shop/web: no script in key k of ConfigMap c"),
        ("ServiceAccountForbidden", "Lane shop/web: nothing is written"),
        ("ObjectNotOurs", "Ingress shop/web-canary exists and was not made for this Rollout"),
        ("ObjectIsGoing", "Ingress shop/web-canary of an earlier release is still being deleted"),
        ("SiblingNamedTwice", "Ingress shop/web: two entries want Ingress web-canary beside it"),
        ("ServiceInUse", "Service shop/web is used by the release of Rollout shop/other"),
        ("ClusterScopedKind", "Lane shop/web cannot be referred to"),
    ],
)
@pytest.mark.parametrize(
    ("state", "edits"),
    [
        pytest.param("Initializing", True, id="before-the-first-move"),
        pytest.param("InRolling", False, id="in-the-middle"),
        pytest.param("Cancelling", False, id="going-back"),
    ],
)
def test_another_object_is_offered_only_while_admission_accepts_it(
    reason: str, message: str, state: str, edits: bool
) -> None:
    view = structs.replace(stalled(reason, message), routes_fixed=not edits)
    progress = ConditionView("Progressing", "True", state, "")
    found = typed(structs.replace(view, conditions=(*view.conditions, progress)))
    assert any("edit rollout" in line for line in found) is edits
    assert len(set(found)) == len(found)
    if state == "InRolling":
        # A rollback waits for a missing Service, too.
        assert any("undo web" in line for line in found) is (reason != "ServiceNotFound")
    if state == "Cancelling":
        assert not any("undo web" in line for line in found)


@pytest.mark.parametrize("reason", ["WorkloadTaken", "UnsupportedStyle", "UnsupportedWorkload"])
@pytest.mark.parametrize("fixed", [True, False])
def test_another_workload_is_offered_only_while_admission_accepts_it(
    reason: str, fixed: bool
) -> None:
    view = structs.replace(stalled(reason, "web is of another Rollout"), workload_fixed=fixed)
    assert any("edit rollout" in line for line in typed(view)) is not fixed


def shared(reason: str, message: str, view: RolloutView) -> RolloutView:
    """The view, with a problem of the TrafficRouting."""
    routes = SharedRoutesView("lane", "Progressing", True, reason, message)
    return structs.replace(view, shared_routes=routes)


HELD = "VirtualService shop/web was changed by flux at spec.http, and two writers must not fight"


def test_a_held_shared_route_is_looked_at_in_its_trafficrouting() -> None:
    view = shared("RouteHeld", HELD, stalled("RouteHeld", HELD))
    assert typed(view) == [
        "kubectl describe trafficrouting lane -n shop",
        "kubectl get virtualservice web -o yaml --show-managed-fields -n shop",
        "kubectl moonshift undo web -n shop",
    ]
    assert problems_of(view) == (f"trafficrouting/lane: {HELD}",)
    text = plain(answer(view, NOW, KUBECTL))
    assert text.count(HELD) == 1
    assert "the problem is that of TrafficRouting shop/lane" in text


def test_a_trafficrouting_is_corrected_in_its_own_object() -> None:
    text = "TrafficRouting shop/lane: spec.strategy has neither weight nor matches: set one"
    view = shared("InvalidTrafficRouting", text, stalled("InvalidTrafficRouting", text))
    assert "kubectl edit trafficrouting lane -n shop" in typed(view)
    assert not any("edit rollout" in line for line in typed(view))


def test_a_problem_of_a_trafficrouting_does_not_hide_the_approval_that_is_waited_for() -> None:
    waiting = structs.replace(QUIET, summary=structs.replace(SUMMARY, waits_for=APPROVAL))
    view = shared("Forbidden", "VirtualService shop/other: User cannot update it", waiting)
    assert typed(view)[0] == "kubectl moonshift approve web -n shop"
    assert "kubectl describe trafficrouting lane -n shop" in typed(view)


def test_a_problem_of_the_rollouts_own_comes_before_one_of_its_trafficrouting() -> None:
    own = stalled("AnalysisFailed", "the metrics of step(1) failed")
    assert typed(shared("RouteHeld", HELD, own)) == typed(own)
    assert f"! trafficrouting/lane: {HELD}" in plain(answer(shared("RouteHeld", HELD, own), NOW))


def test_the_right_of_an_account_is_granted_by_the_commands_of_the_message() -> None:
    role = "router-lanes-patch"
    first = f"kubectl create role {role} -n shop --verb=patch --resource=lanes.a.io"
    second = f"kubectl create rolebinding {role} -n shop --role={role} --serviceaccount=shop:router"
    text = f"Lane shop/web: nothing is written; grant it: {first} && {second}"
    assert typed(stalled("ServiceAccountForbidden", text))[:2] == [first, second]
    forged = text.replace("lanes.a.io", "lanes;reboot").replace("shop:router", "$(reboot)")
    assert not any("reboot" in line for line in typed(stalled("ServiceAccountForbidden", forged)))


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        (
            "ScriptNotFound",
            "Lane shop/web: ConfigMap shop/scripts, which scriptRef names, does not exist",
        ),
        ("ScriptFailed", "Lane shop/web: script k of ConfigMap shop/scripts failed in line 1: x"),
    ],
)
def test_a_script_of_the_namespace_is_mended_there(reason: str, message: str) -> None:
    assert typed(stalled(reason, message))[0] == "kubectl edit configmap scripts -n shop"


def test_the_right_that_is_missing_can_be_asked_for() -> None:
    asked = "kubectl auth can-i patch horizontalpodautoscalers.autoscaling --as system:serviceaccount:a:b -n shop"
    assert typed(stalled("Forbidden", FORBIDDEN))[1] == asked


def test_a_name_with_a_shells_signs_stays_one_word() -> None:
    message = FORBIDDEN.replace("system:serviceaccount:a:b", "$(reboot); eve")
    command = typed(stalled("Forbidden", message))[1]
    assert "$(reboot); eve" in shlex.split(command)


@pytest.mark.parametrize("name", ["$(reboot)", "a;b", "-A", "x`y`", "../etc"])
def test_only_names_of_kubernetes_are_taken_for_names(name: str) -> None:
    message = f"Service shop/{name}: pod {name}: container {name} ends with exit code 1 ()"
    commands = typed(stalled("ServiceNotFound", message)) + typed(stalled("Other", message))
    assert not any(name in command.split() for command in commands)


@pytest.mark.parametrize(
    ("workload", "group", "command"),
    [
        ("CloneSet/web", "apps.kruise.io", """-p '{"spec":{"updateStrategy":{"paused":false}}}'"""),
        (
            "StatefulSet/web",
            "apps.kruise.io",
            """-p '{"spec":{"updateStrategy":{"rollingUpdate":{"paused":false}}}}'""",
        ),
    ],
)
def test_a_set_of_openkruise_is_let_go_by_a_patch(workload: str, group: str, command: str) -> None:
    view = stalled("PausedByOwner", workload=workload, workload_group=group)
    (found,) = typed(view)
    kind = workload.partition("/")[0].lower()
    assert found.startswith(f"kubectl patch {kind}.{group}/web --type merge")
    assert command in found


def test_without_the_new_pods_an_approval_helps_only_where_a_step_waits_for_one() -> None:
    approve = "kubectl moonshift approve web -n shop"
    assert approve in typed(stalled("SideWithoutEndpoints", may_go_on=True))
    assert approve not in typed(stalled("SideWithoutEndpoints"))


def test_a_gate_is_measured_again_before_the_pause_and_approved_in_it() -> None:
    assert any(" retry " in command for command in typed(stalled("AnalysisFailed")))
    paused = typed(stalled("AnalysisFailed", state="StepPaused"))
    assert [command.split()[2] for command in paused] == ["undo", "retry", "approve", "describe"]


@pytest.mark.parametrize(
    "view",
    [
        structs.replace(QUIET, summary=structs.replace(SUMMARY, waits_for=APPROVAL)),
        stalled("AnalysisFailed"),
        stalled("CrashLoopBackOff", "step(1): of 1 new pods 0 ready; pod p: container c fails"),
    ],
    ids=["an approval is waited for", "a gate failed", "pods fail"],
)
def test_an_undo_that_would_find_nothing_is_not_offered(view: RolloutView) -> None:
    undo, manifest = "kubectl moonshift undo web -n shop", "kubectl apply -f FILE -n shop"
    assert undo in typed(view)
    gone = typed(structs.replace(view, no_way_back="the ControllerRevision is gone"))
    assert gone == [manifest if command == undo else command for command in typed(view)]


def test_nothing_is_rolled_back_at_the_end_of_a_release() -> None:
    view = stalled("X", "the end of the release (Succeeded): 3 of 4 pods are ready; pod p: why")
    assert typed(view) == ["kubectl describe pod p -n shop"]


def test_a_release_that_goes_back_is_not_taken_back_again() -> None:
    view = stalled("Invalid", "a policy refuses it")
    undo = "kubectl moonshift undo web -n shop"
    assert undo in typed(view)
    going = ConditionView("Progressing", "True", reasons.CANCELLING, "")
    assert undo not in typed(structs.replace(view, conditions=(*view.conditions, going)))


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"waits_for": APPROVAL}, "kubectl moonshift approve web -n shop"),
        ({"waits_for": PAUSE_OF_STEP}, "kubectl moonshift approve web -n shop"),
        ({"paused": True}, "kubectl moonshift resume web -n shop"),
        ({"waits_for": REPLICAS}, "kubectl scale deployment/web --replicas=NUMBER -n shop"),
        ({"waits_for": NODES}, "kubectl describe deployment/web -n shop"),
        ({"phase": "Initial"}, "kubectl apply -f FILE -n shop"),
    ],
)
def test_the_person_that_a_release_waits_for_gets_the_command_to_type(
    changes: dict[str, object], first: str
) -> None:
    view = structs.replace(QUIET, summary=structs.replace(SUMMARY, **changes))
    assert typed(view)[0] == first


def test_a_release_that_moves_or_rests_needs_no_command() -> None:
    resting = structs.replace(SUMMARY, phase="Healthy", waits_for=NOTHING)
    assert typed(QUIET) == typed(structs.replace(QUIET, summary=resting)) == []
    assert "type next" not in plain(answer(QUIET, NOW, KUBECTL))


@pytest.mark.parametrize(
    ("value", "reason", "commands"),
    [
        ("", "the query answered no value", ["describe", "undo"]),
        ("nan", "the query answered no value", ["describe", "undo"]),
        ("0.2", "0.2 is within its bounds", []),
        ("", "", []),
    ],
)
def test_a_gate_that_measures_nothing_is_looked_at(
    value: str, reason: str, commands: list[str]
) -> None:
    metric = GateMetricView("errors", "Running", reason, value)
    view = structs.replace(QUIET, gates=(GateView(1, "Running", reason, NOW, (metric,)),))
    assert typed(view) == [f"kubectl moonshift {verb} web -n shop" for verb in commands]


def test_a_contested_autoscaler_does_not_keep_a_paused_step_from_its_approval() -> None:
    view = stalled(reasons.AUTOSCALER_CONTESTED, "resumed twice")
    assert "kubectl moonshift approve web -n shop" not in typed(view)
    paused = structs.replace(view, summary=structs.replace(view.summary, state="StepPaused"))
    assert "kubectl moonshift approve web -n shop" in typed(paused)


def test_a_contested_workload_leads_to_the_webhooks_that_may_change_it() -> None:
    view = stalled(reasons.WORKLOAD_CONTESTED, "undoes each write of spec.minReadySeconds")
    assert typed(view)[0] == "kubectl get mutatingwebhookconfigurations"
    assert "kubectl moonshift undo web -n shop" in typed(view)


def test_pods_in_trouble_are_looked_at_before_they_are_a_stall() -> None:
    pods = (PodView("p1", False, because="ErrImagePull: no such image"),)
    view = structs.replace(QUIET, revisions=(RevisionView(Role.CANARY, "new", pods),))
    assert typed(view) == [
        "kubectl describe pod p1 -n shop",
        "kubectl moonshift undo web -n shop",
    ]
    resting = structs.replace(view, summary=structs.replace(view.summary, phase="Healthy"))
    assert typed(resting) == ["kubectl describe pod p1 -n shop"]


def test_without_a_controller_its_pods_are_looked_at_and_nothing_else() -> None:
    view = structs.replace(stalled("ServiceNotFound"), unattended="no controller is at work: …")
    assert typed(view)[0] == "kubectl get pods -n kruise-rollout"
    assert not any("shop" in command for command in typed(view))


def test_programs_get_the_commands_as_data() -> None:
    view = stalled("RevisionFailed")
    found = remedies(view, KUBECTL)
    assert why(view, "", found).next == found
    assert found[0].command == "kubectl moonshift retry web -n shop"


def test_the_objects_of_a_remedy_are_read_from_the_message() -> None:
    assert mentions.named("UpstreamGroup a-1/shop.x: forbidden") == ("UpstreamGroup", "shop.x")
    assert mentions.group("RouteGroup (zalando.org/v1) is not served") == "zalando.org"
    assert mentions.group("Deployment (apps/v1)") == ""
    assert mentions.pod("no pod of the stable revision is ready") == ""
    assert mentions.denied("denied by a policy") is None
