"""Commands about Services, gateway objects, rights, kinds, scripts, gates and the Rollout itself.

Invariant: the object is the first `Kind namespace/name` of the message, which is its subject.
"""

import shlex
from collections.abc import Callable

from controller.api.names import CONFIGURATION, DRIFT, ROLLOUT_ID
from controller.api.rollout import StepState
from controller.cli.remedies import mentions
from controller.cli.remedies.case import Case
from controller.cli.views.view import Remedy

Answer = Callable[[Case], tuple[Remedy, ...]]
_EXAMPLES = "deploy/kustomize/gateways"


def missing(case: Case) -> tuple[Remedy, ...]:
    """Something that is named does not exist."""
    found = mentions.named(case.message)
    return case.applied(*found) if found is not None else (case.describe(), case.edit())


def missing_service(case: Case) -> tuple[Remedy, ...]:
    """A stable Service does not exist. Once its name is fixed, it has to be created again: a rollback waits for it,
    too.
    """
    return tuple(each for each in missing(case) if each != case.undo())


def missing_template(case: Case) -> tuple[Remedy, ...]:
    """A gate names a template that does not exist."""
    found = mentions.template(case.message)
    what = f"FILE: the manifest of {' '.join(found)}" if found is not None else "FILE: its manifest"
    kind = found[0].lower() if found is not None else "analysistemplate"
    return (
        case.kubectl("apply -f FILE", what),
        case.kubectl(f"get {kind}s", "what there is"),
        case.edit("or name another one in the Rollout"),
    )


def unusable(case: Case) -> tuple[Remedy, ...]:
    """An object exists with a wrong content."""
    return _shown(case, "-o yaml", "what it says") or case.describe(), *case.names_another()


def damaged(case: Case) -> tuple[Remedy, ...]:
    """Our record of a gateway object was changed, so nobody but a person can restore the object. A rollback would wait
    for that as well.
    """
    found = mentions.named(case.message)
    if found is None:
        return (case.describe(),)
    edit = case.kubectl(
        f"edit {found[0].lower()} {found[1]}",
        "put it right, and remove the two annotations of the release",
    )
    return (edit, case.describe())


def mixed(case: Case) -> tuple[Remedy, ...]:
    """Both revisions share a Service, and a gateway object sends requests to all its pods."""
    found = mentions.named(case.message)
    route = () if found is None else (_subset(case, *found),)
    return *route, case.edit("or correct the Rollout"), case.undo()


def not_alone(case: Case) -> tuple[Remedy, ...]:
    """Pods of another workload are behind the Service, and a route divides them by subsets."""
    return case.edit("name a Service that leads to this workload only"), case.undo()


def _subset(case: Case, kind: str, name: str) -> Remedy:
    return case.kubectl(f"edit {kind.lower()} {name}", "name a subset that has stable pods only")


def not_named(case: Case) -> tuple[Remedy, ...]:
    """An object has a wrong content, and no reference of the Rollout names it."""
    return _shown(case, "-o yaml", "what it says") or case.describe(), case.edit()


def _shown(case: Case, flags: str, purpose: str) -> Remedy | None:
    """The command that shows the object of the message; None if the message names none."""
    found = mentions.named(case.message)
    if found is None:
        return None
    kind, name = found
    return case.kubectl(f"get {kind.lower()} {name} {flags}", purpose)


def service(case: Case) -> tuple[Remedy, ...]:
    """A Service selects nothing, or not by labels."""
    if (misses := mentions.selecting_nothing(case.message)) is not None:
        return selector(case, misses)
    found = mentions.named(case.message)
    return (
        *([case.kubectl(f"edit service {found[1]}", "correct its selector")] if found else []),
        case.kubectl("get pods --show-labels", "the labels that it can select by"),
        *case.names_another(f"or name another Service in {case.edited}"),
    )


def selector(case: Case, name: str) -> tuple[Remedy, ...]:
    """A Service selects by a label that ready pods do not have. Going back helps only where the old pods have it."""
    back = case.back() if mentions.new_pods_are_missed(case.message) else ()
    return (
        case.kubectl(f"edit service {name}", "correct its selector"),
        case.kubectl("get pods --show-labels", "the labels that it can select by"),
        *back,
    )


def forbidden(case: Case) -> tuple[Remedy, ...]:
    """A right is missing, or a policy or quota refuses."""
    if mentions.quota(case.message):
        return case.kubectl("describe resourcequota", "used and allowed amounts"), *case.back()
    denied = mentions.denied(case.message)
    if denied is None:
        return case.describe(), *case.back()
    where = _EXAMPLES if _EXAMPLES in case.message else "deploy/kustomize"
    asked = f"auth can-i {denied.verb} {denied.resource} --as {shlex.quote(denied.user)}"
    return (
        Remedy(f"kubectl apply -k {where}", "the missing right, from Moonshift's repository"),
        case.kubectl(asked, "whether the controller has it"),
    )


def webhook(case: Case) -> tuple[Remedy, ...]:
    """A webhook that is asked before a write gave no answer."""
    kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
    return (
        Remedy(f"kubectl get {kinds} -o wide", "whose webhook it is: see that its pods run"),
        *case.back(),
    )


def not_served(case: Case) -> tuple[Remedy, ...]:
    """The cluster does not know a kind."""
    group = mentions.group(case.message)
    look = f"kubectl api-resources --api-group={group}" if group else "kubectl api-resources"
    return (
        Remedy("kubectl apply -f FILE", "FILE: the CRD of this kind"),
        Remedy(look, "which kinds and versions are served"),
        *case.names_another(f"or correct apiVersion and kind in {case.edited}"),
    )


def changed(case: Case) -> tuple[Remedy, ...]:
    """Somebody changed a gateway object, and the release holds at it."""
    writer = _shown(case, "-o yaml --show-managed-fields", "by whom")
    found = mentions.named(case.message) if DRIFT in case.message else None
    let_go = () if found is None else (_hold_taken_off(case, *found),)
    return case.describe("what was changed"), *((writer,) if writer else ()), *let_go, case.undo()


def refused_by_gateway(case: Case) -> tuple[Remedy, ...]:
    """A gateway does not take its object: its owner's part is wrong, or what the step's script wrote."""
    found = mentions.named(case.message)
    if found is None:
        return case.describe(), case.undo()
    kind, name = found[0].lower(), found[1]
    return (
        case.kubectl(f"get {kind} {name} -o yaml", "what the gateway says in its status"),
        case.kubectl(f"edit {kind} {name}", "correct it; the release keeps its share in it"),
        case.undo(),
    )


def _hold_taken_off(case: Case, kind: str, name: str) -> Remedy:
    words = f"annotate {kind.lower()} {name} {DRIFT}-"
    return case.kubectl(words, "let the release put its content back")


def autoscaler(case: Case) -> tuple[Remedy, ...]:
    """Another writer resumes an autoscaler that the release has paused."""
    fields = case.kubectl("get hpa -o yaml --show-managed-fields", "who resumes it")
    paused = case.summary.state == StepState.STEP_PAUSED
    return (fields, *([case.approve("go on nevertheless")] if paused else []), case.undo())


def contested(case: Case) -> tuple[Remedy, ...]:
    """A webhook or policy undoes the hold of the workload."""
    found = Remedy("kubectl get mutatingwebhookconfigurations", "who may change the workload")
    return found, *case.back()


def gate(case: Case) -> tuple[Remedy, ...]:
    """Metrics or a check hold the release."""
    paused = case.summary.state == StepState.STEP_PAUSED
    on = (case.approve("go on nevertheless"),) if paused else ()
    again = case.ours("retry", "measure and ask again")
    return case.undo(), again, *on, case.describe("every measurement and check")


def account(case: Case) -> tuple[Remedy, ...]:
    """The ServiceAccount of a namespace's script lacks a right."""
    grants = tuple(
        Remedy(command, "the missing right, from an administrator of the namespace")
        for command in mentions.grants(case.message)
    )
    return case.once(
        *grants,
        *case.names_another(f"or name another ServiceAccount in {case.edited}"),
        *case.back(),
    )


def script(case: Case) -> tuple[Remedy, ...]:
    """A script is missing, fails, or its answer is refused."""
    if own := mentions.own_config_map(case.message):
        look = case.kubectl(f"edit configmap {own}", "the script of this namespace")
        named = case.names_another(f"or name another script in {case.edited}")
        return case.once(look, *named, case.undo())
    where = f"configmap {CONFIGURATION}"
    key = mentions.script_key(case.message) or "KEY"
    if mentions.absent(case.message):
        create = f"create {where} --from-file={key}=FILE"
        scripts = case.beside_the_controller(create, "FILE: the script of this kind")
    else:
        scripts = case.beside_the_controller(f"edit {where}", "the scripts of this cluster")
    named = case.names_another(f"or name another gateway object in {case.edited}")
    return case.once(scripts, *named, case.undo())


def worker(case: Case) -> tuple[Remedy, ...]:
    """The script worker does not answer."""
    return (case.beside_the_controller("get pods", "whether the script worker's pods run"),)


def listed(words: str) -> Answer:
    """Name another object in the Rollout; `words` list the existing ones."""
    return lambda case: (case.kubectl(f"get {words}", "what there is"), case.edit())


def in_use(case: Case) -> tuple[Remedy, ...]:
    """The release of another Rollout uses the Service."""
    named = case.names_another(f"or name another Service in {case.edited}")
    return case.kubectl("get rollouts", "what there is"), *named


def taken(case: Case) -> tuple[Remedy, ...]:
    """Another Rollout has the workload."""
    named = case.names_another_workload("name another workload")
    return case.kubectl("get rollouts", "what there is"), *named


def edited(case: Case) -> tuple[Remedy, ...]:
    """The Rollout asks for something impossible, in a field that may be changed at any time."""
    return case.edit(), case.undo()


def planned(case: Case) -> tuple[Remedy, ...]:
    """The plan cannot be followed at all: a rollback would wait for it, too."""
    return (case.edit(),)


def edited_routes(case: Case) -> tuple[Remedy, ...]:
    """The traffic cannot be led as the Rollout says."""
    return case.once(*case.names_another(), case.undo())


def edited_workload(case: Case) -> tuple[Remedy, ...]:
    """The workload, or the style for it, cannot be released."""
    if ROLLOUT_ID in case.message:
        words = f"annotate {case.workload} {ROLLOUT_ID}=ID --overwrite"
        return case.kubectl(words, "ID: one that can be a label"), case.undo()
    return case.once(*case.names_another_workload(), case.undo())


def unattended(case: Case) -> tuple[Remedy, ...]:
    """No controller is at work."""
    return (
        case.beside_the_controller("get pods", "whether the controller's pods run"),
        case.beside_the_controller("get events", "why they do not"),
    )
