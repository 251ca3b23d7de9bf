"""The table of commands for each reason.

Why: a message names the problem; a person who is paged at night needs the command, too. Invariant: every reason of the
condition Stalled has a row, or is a reason of pods in Kubernetes' own words. The most useful command comes first.
"""

from controller.api.analysis import Verdict
from controller.api.rollout import BUSY_PHASES, Phase
from controller.cli.remedies import of_objects, of_pods
from controller.cli.remedies.case import Case, SharedCase
from controller.cli.remedies.of_objects import Answer
from controller.cli.views.problems import problems_of
from controller.cli.views.view import Remedy, RolloutView
from controller.cli.views.waiting import APPROVAL, NODES, PAUSE_OF_STEP, REPLICAS
from controller.domain import availability, reasons

TABLE: dict[str, Answer] = {
    availability.Forbidden.reason: of_objects.forbidden,
    availability.NotServed.reason: of_objects.not_served,
    reasons.SERVICE_ACCOUNT_FORBIDDEN: of_objects.account,
    reasons.INVALID: of_objects.forbidden,
    reasons.WEBHOOK_FAILED: of_objects.webhook,
    reasons.SERVICE_NOT_FOUND: of_objects.missing_service,
    reasons.GATEWAY_OBJECT_NOT_FOUND: of_objects.missing,
    reasons.TRAFFIC_ROUTING_NOT_FOUND: of_objects.missing,
    reasons.ANALYSIS_TEMPLATE_NOT_FOUND: of_objects.missing_template,
    reasons.INVALID_TRAFFIC_ROUTING: of_objects.listed("trafficroutings -o yaml"),
    reasons.WORKLOAD_TAKEN: of_objects.taken,
    reasons.SERVICE_IN_USE: of_objects.in_use,
    reasons.OTHER_PODS_BEHIND_SERVICE: of_objects.not_alone,
    reasons.SERVICE_WITHOUT_SELECTOR: of_objects.service,
    reasons.SERVICE_SELECTS_NO_POD: of_objects.service,
    **dict.fromkeys(
        (
            reasons.SERVICE_UNREADABLE,
            reasons.SERVICE_NOT_OURS,
            reasons.OBJECT_NOT_OURS,
            reasons.OBJECT_IS_GOING,
            reasons.AMBIGUOUS_CHANGE,
            reasons.CHANGE_NOT_KEPT,
            reasons.GATEWAY_OBJECT_IN_USE,
            reasons.GATEWAY_OBJECT_REJECTED,
            reasons.GATEWAY_OBJECT_TOO_LARGE,
            reasons.GATEWAY_OBJECT_UNREADABLE,
            reasons.NOTHING_TO_DIVIDE,
        ),
        of_objects.unusable,
    ),
    **dict.fromkeys((reasons.CONFIG_NOT_OURS, reasons.REVERT_REFUSED), of_objects.not_named),
    reasons.ORIGINAL_CORRUPT: of_objects.damaged,
    reasons.ROUTE_HELD: of_objects.changed,
    reasons.ROUTE_REFUSED_BY_GATEWAY: of_objects.refused_by_gateway,
    reasons.AUTOSCALER_CONTESTED: of_objects.autoscaler,
    reasons.WORKLOAD_CONTESTED: of_objects.contested,
    **dict.fromkeys(
        (
            reasons.ANALYSIS_FAILED,
            reasons.ANALYSIS_INCONCLUSIVE,
            reasons.ANALYSIS_WITHOUT_DATA,
            reasons.CHECK_FAILED,
        ),
        of_objects.gate,
    ),
    **dict.fromkeys(
        (
            reasons.UNSUPPORTED_STEP,
            reasons.INVALID_ANALYSIS,
            reasons.INVALID_CHECK,
            reasons.TRAFFIC_UNREADABLE,
        ),
        of_objects.edited,
    ),
    reasons.INVALID_ROLLOUT: of_objects.planned,
    reasons.SHARED_SERVICE_MIXES_REVISIONS: of_objects.mixed,
    **dict.fromkeys(
        (reasons.UNSUPPORTED_STYLE, reasons.UNSUPPORTED_WORKLOAD), of_objects.edited_workload
    ),
    **dict.fromkeys(
        (reasons.CLUSTER_SCOPED_KIND, reasons.NAME_TOO_LONG, reasons.SIBLING_NAMED_TWICE),
        of_objects.edited_routes,
    ),
    **dict.fromkeys(
        (
            reasons.SCRIPT_NOT_FOUND,
            reasons.SCRIPT_FAILED,
            reasons.SCRIPT_ANSWER_REFUSED,
            reasons.SCRIPT_NOT_DETERMINISTIC,
            reasons.SCRIPT_ORDER,
        ),
        of_objects.script,
    ),
    reasons.WORKER_UNAVAILABLE: of_objects.worker,
    reasons.PAUSED_BY_OWNER: of_pods.paused_by_owner,
    reasons.OWNERS_VALUES_LOST: of_pods.owners_values,
    reasons.STABLE_REVISION_GONE: of_pods.stable_gone,
    reasons.SIDE_WITHOUT_ENDPOINTS: of_pods.no_endpoints,
    reasons.REVISION_FAILED: of_pods.given_up,
    reasons.TEMPLATE_GONE: of_pods.template_gone,
    reasons.DEADLINE_EXCEEDED: of_pods.missing_or_failing,
}
"""Other reasons are of pods that fail or are not made."""


def remedies(view: RolloutView, program: str) -> tuple[Remedy, ...]:
    """The commands, the most useful first; empty if nobody has to act."""
    case = Case(view, program)
    if view.unattended and view.lease_readable:
        return of_objects.unattended(case)
    shared = view.shared_routes
    if shared is not None and shared.problem and case.reason in ("", shared.reason):
        found = _answer(SharedCase(view, program, shared))
        return _possible(case, found if case.reason else case.once(*_waiting(case), *found))
    return _possible(case, _answer(case))


def _answer(case: Case) -> tuple[Remedy, ...]:
    answer = TABLE.get(case.reason, of_pods.missing_or_failing) if case.reason else _waiting
    return answer(case)


def _possible(case: Case, found: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    """If the old version's template is kept nowhere, only its owner's manifest can restore it. Without a release, or
    if it goes back already, there is nothing to take back.
    """
    undo = case.undo()
    if case.goes_back or case.summary.phase not in BUSY_PHASES:
        return tuple(remedy for remedy in found if remedy != undo)
    if not case.view.no_way_back or undo not in found:
        return found
    place = found.index(undo)
    return (*found[:place], *of_pods.template_gone(case), *found[place + 1 :])


def _waiting(case: Case) -> tuple[Remedy, ...]:
    """The Rollout is not Stalled: it waits for people, or a problem is about to begin."""
    summary = case.summary
    if summary.waits_for == APPROVAL:
        return case.approve(), case.undo()
    if summary.waits_for == PAUSE_OF_STEP:
        return case.approve("end the pause now"), case.undo()
    if summary.waits_for == REPLICAS:
        words = f"scale {case.workload} --replicas=NUMBER"
        return (case.kubectl(words, "let the release begin again"),)
    if summary.waits_for == NODES:
        return (case.kubectl(f"describe {case.workload}", "which nodes may take its pods"),)
    if summary.phase == Phase.INITIAL:
        kind, _, name = summary.workload.partition("/")
        return case.applied(kind, name)
    if summary.phase == Phase.PROGRESSING and summary.paused:
        return case.ours("resume", "let the release go on"), case.undo()
    if case.view.given_up:
        return case.once(*of_pods.unready(case), *of_pods.given_up(case))
    if found := of_pods.unready(case):
        # At rest, `undo` would begin a release.
        return (*found, case.undo()) if summary.phase == Phase.PROGRESSING else found
    if _measures_nothing(case):
        return case.describe("every measurement"), case.undo()
    return (case.describe(),) if problems_of(case.view) else ()


def _measures_nothing(case: Case) -> bool:
    """A gate waits for a metric whose last measurement gave no number: a person looks at the query."""
    return any(
        metric.reason and metric.verdict == Verdict.RUNNING and metric.value in ("", "nan")
        for gate in case.view.gates
        for metric in gate.metrics
    )
