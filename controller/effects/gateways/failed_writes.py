"""Messages about failures of gateway objects: each names the object, the script and the remedy.

Invariant: the text of the API server is kept where it contains more than we know (a missing right: verb, resource,
namespace and user). Must not decide which events are failures.
"""

from collections.abc import Sequence
from typing import assert_never

from controller.domain import availability, reasons
from controller.domain.decision import NotYet, OwnScript, Reference, Refusal, RoutePlan
from controller.domain.rollout.words.way_out import GO_BACK
from controller.domain.traffic.plan.script_input import Cycle
from controller.errors import (
    WRITE_REFUSED,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RefusedWrite,
    Right,
    WebhookFailed,
)
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.script_outcome import Refused

UNWATCHED = 30.0
"""Seconds until a retry if no watch reports the change: rights, served kinds, policies and webhooks."""
UNAVAILABLE = 1.0
"""Seconds until a worker that did not answer is called again."""
OVERLOADED = 10.0
"""Seconds until a script is run again if the machine may have caused its failure."""
CONFLICT = 0.5
"""Seconds until an object is read again that somebody else wrote at the same time."""

_WORDS = {
    "SYNTAX_ERROR": "has a syntax error",
    "RUNTIME_ERROR": "failed",
    "TIMEOUT": "took too long and was stopped",
    "MEMORY_LIMIT": "used too much memory and was stopped",
    "BAD_RESULT": "returned something that cannot be written as JSON",
    "BAD_INPUT": "could not be given the object",
    "CRASHED": "ended its process",
    "SANDBOX_VIOLATION": "tried something that scripts may not do, and was stopped",
    "TOO_LARGE": "was given an object that is too large",
    "INVALID_REQUEST": "could not be given to the worker",
    "CIRCUIT_OPEN": "failed repeatedly and is not run for a while",
}
_MISSING_RIGHT = " is forbidden: User "
"""The first words of a refusal by the API server's authorizer; an admission plugin uses other words.

Only the words distinguish them: both answer with the same Status, of code 403, reason Forbidden and the object's group,
resource and name as details.
"""
_GIVE_RIGHT = (
    "give it get, list, watch, patch and update by a ClusterRole labelled "
    'moonshift.dev/aggregate-to-controller: "true" (examples: deploy/kustomize/gateways)'
)
_PASSING = frozenset({"TIMEOUT", "CRASHED", "CIRCUIT_OPEN", "NEED_SCRIPT"})

WriteFailure = NotFound | Conflict | RefusedWrite
WRITE_FAILURES = (NotFound, Conflict, *WRITE_REFUSED)
"""Answers of the API server that are about one object, not about the server."""


def of_write(failure: WriteFailure, subject: str) -> Refusal | NotYet:
    """The message for an answer of the API server about one object."""
    match failure:
        case NotFound():
            return not_found(subject)
        case Conflict():
            return NotYet(f"{subject} was changed at the same time; it is read again", CONFLICT)
        case Forbidden():
            return forbidden(failure, subject)
        case Invalid():
            return Refusal(
                reasons.GATEWAY_OBJECT_REJECTED,
                f"the API server does not accept {subject} as the script wants it: {failure.message}",
                object=subject,
                retry_after=UNWATCHED,
            )
        case WebhookFailed():
            return webhook_failed(failure, subject)
        case _:
            assert_never(failure)


def forbidden(failure: Forbidden, subject: str) -> Refusal:
    """A right is missing, or an admission plugin refused."""
    return Refusal(
        availability.Forbidden.reason,
        unreadable(failure.message, subject),
        object=subject,
        retry_after=UNWATCHED,
        right=failure.right,
    )


def webhook_failed(failure: WebhookFailed, subject: str) -> Refusal:
    """A webhook of somebody else, which the API server asks before each write of the object, gave no answer."""
    return Refusal(
        reasons.WEBHOOK_FAILED,
        f"{subject} was not written: {failure.message}",
        object=subject,
        retry_after=UNWATCHED,
    )


def account_forbidden(own: OwnScript, missing: Sequence[Right], about: Reference) -> Refusal:
    """The ServiceAccount of a namespace's script lacks rights on an object that the script is about."""
    first = missing[0]
    verbs = tuple(right.verb for right in missing)
    kind = f"{first.resource}.{first.group}".rstrip(".")
    subject = f"{about.kind} {own.namespace}/{about.name}".rstrip("/")
    where = f"in namespace {first.namespace}" if first.namespace else "in the cluster"
    return Refusal(
        reasons.SERVICE_ACCOUNT_FORBIDDEN,
        f"{subject}: ServiceAccount {own.account_key} may not {' and '.join(verbs)} {kind} {where}, and the script of "
        f"ConfigMap {own.config_map_key} acts with its rights: nothing is written; grant it: "
        f"{grant(own, first, verbs)}",
        object=subject,
        right=first,
    )


def grant(own: OwnScript, right: Right, verbs: Sequence[str]) -> str:
    """The commands that give a ServiceAccount a right on a kind."""
    kind = f"{right.resource}.{right.group}".rstrip(".")
    place, role = (f" -n {right.namespace}", "role") if right.namespace else ("", "clusterrole")
    called = "-".join((own.account, right.resource, *verbs))
    return (
        f"kubectl create {role} {called}{place} --verb={','.join(verbs)} --resource={kind} && "
        f"kubectl create {role}binding {called}{place} --{role}={called} "
        f"--serviceaccount={own.account_key.namespace}:{own.account}"
    )


def unreadable(message: str, subject: str) -> str:
    """The API server's words about one object, and how to grant a missing right."""
    text = message if message.startswith(subject) else f"{subject}: {message}"
    if " cannot " not in message or _MISSING_RIGHT not in message:
        return text
    return f"{text}; {_GIVE_RIGHT}"


def not_found(subject: str) -> Refusal:
    """The object does not exist."""
    return Refusal(
        reasons.GATEWAY_OBJECT_NOT_FOUND,
        f"{subject} does not exist: create it",
        object=subject,
    )


def kind_not_served(reference: Reference, subject: str) -> Refusal:
    """The cluster does not know the kind."""
    return Refusal(
        availability.NotServed.reason,
        f"{subject}: the cluster does not serve {reference.kind} in {reference.api_version}: install its CRD",
        object=subject,
        retry_after=UNWATCHED,
    )


def cluster_scoped(reference: Reference, subject: str) -> Refusal:
    """The kind is cluster-scoped, so a namespace must not change it."""
    return Refusal(
        reasons.CLUSTER_SCOPED_KIND,
        f"{subject} cannot be referred to: {reference.kind} is cluster-scoped, and a Rollout leads traffic by objects "
        "of its own namespace only; an administrator may allow such kinds by the controller's flag "
        "--allow-cluster-scoped-gateways",
        object=subject,
    )


def nothing_to_route(plan: RoutePlan) -> Refusal:
    """A step that routes has neither a share nor matches."""
    return Refusal(
        reasons.TRAFFIC_UNREADABLE,
        "the step's traffic is no percentage from 0% to 100%, and it has no matches; nothing is changed",
        object=f"Rollout {plan.namespace}/{plan.rollout}",
    )


def not_dividable(message: str, subject: str) -> Refusal:
    """No part of the object routes to the stable Service."""
    return Refusal(reasons.NOTHING_TO_DIVIDE, f"{subject}: {message}", object=subject)


def too_large(message: str, subject: str) -> Refusal:
    """The object has no room for our copy of it."""
    return Refusal(reasons.GATEWAY_OBJECT_TOO_LARGE, f"{subject}: {message}", object=subject)


def named_twice(name: str, subject: str) -> Refusal:
    """Two Services behind one object whose copies would have the same name."""
    text = f"{subject}: the entries of two Services want a {name} beside it"
    return Refusal(
        reasons.SIBLING_NAMED_TWICE,
        f"{text}: give each Service an object of its own",
        object=subject,
        once_moved=f"{text}: {GO_BACK}",
    )


def somebody_elses(name: str, subject: str) -> Refusal:
    """An object of the needed name was not made for this Rollout."""
    text = f"{name} exists and was not made for this Rollout, so it is not written: delete or rename it"
    return Refusal(
        reasons.OBJECT_NOT_OURS,
        f"{text}, or lead the traffic by another object than {subject}",
        object=name,
        once_moved=f"{text}, or {GO_BACK}",
    )


def is_going(name: str, finalizers: Sequence[str], retry_after: float) -> Refusal:
    """A companion object of an earlier release has been deleted, and is still there."""
    return Refusal(
        reasons.OBJECT_IS_GOING,
        f"{name} of an earlier release is still being deleted: the controllers of its finalizers keep it "
        f"({', '.join(finalizers)}); if one of them is gone for good, remove its finalizer",
        object=name,
        retry_after=retry_after,
    )


def script_missing(missing: MissingScript, subject: str) -> Refusal:
    """No script for the kind."""
    return Refusal(reasons.SCRIPT_NOT_FOUND, f"{subject}: {missing.reason}", object=subject)


def script_cycle(cycle: Cycle) -> Refusal:
    """Headers that contradict each other."""
    return Refusal(
        reasons.SCRIPT_ORDER,
        f"the scripts' headers cannot be put in order: {cycle}; correct an @after line",
        script=str(cycle.kinds[0]),
    )


def script_failed(failed: Refused, script: Script, subject: str) -> Refusal:
    """The script did not finish."""
    what = _WORDS.get(failed.code, f"failed ({failed.code})")
    where = f" in line {failed.line}" if failed.line else ""
    at = f" at {failed.json_path}" if failed.json_path else ""
    return Refusal(
        reasons.SCRIPT_FAILED,
        f"{subject}: script {script.name} {what}{where}{at}: {failed.plain_message}",
        object=subject,
        script=script.name,
        line=failed.line,
        retry_after=OVERLOADED if failed.code in _PASSING else None,
    )


def answer_refused(message: str, script: Script, subject: str) -> Refusal:
    """The script finished, and its answer is not written."""
    return Refusal(
        reasons.SCRIPT_ANSWER_REFUSED,
        f"{subject}: script {script.name}: {message}",
        object=subject,
        script=script.name,
    )


def not_deterministic(script: Script, subject: str) -> Refusal:
    """The script gave two answers to the same input."""
    return Refusal(
        reasons.SCRIPT_NOT_DETERMINISTIC,
        f"{subject}: script {script.name} gave two different answers for the same input; a script may depend on obj "
        "only",
        object=subject,
        script=script.name,
    )


def worker_unavailable(problem: Exception, script: Script, subject: str) -> Refusal:
    """No worker runs scripts now."""
    return Refusal(
        reasons.WORKER_UNAVAILABLE,
        f"{subject}: script {script.name} could not be run: {problem}; no gateway object is touched meanwhile",
        object=subject,
        script=script.name,
        retry_after=UNAVAILABLE,
    )


def change_not_kept(subject: str) -> Refusal:
    """The API server accepted the write and dropped its content."""
    return Refusal(
        reasons.CHANGE_NOT_KEPT,
        f"the API server accepted the change of {subject} but kept nothing of it; the script writes fields that this "
        "version of the kind does not have",
        object=subject,
    )
