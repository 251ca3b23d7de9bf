"""Commands about pods that fail, that cannot be created, or whose workload is paused.

Invariant: commands that look come before commands that go back. A command that deletes a pod is never offered.
"""

from controller.cli.remedies import mentions, of_objects
from controller.cli.remedies.case import Case
from controller.cli.views.problems import pods_in_trouble
from controller.cli.views.view import Remedy, Role

_EVENTS = "its conditions and Events"


def missing_or_failing(case: Case) -> tuple[Remedy, ...]:
    """The message names a pod, or says that none is made; reasons of pods are Kubernetes' own words."""
    if mentions.quota(case.message):
        return case.kubectl("describe resourcequota", "used and allowed amounts"), *case.back()
    if mentions.pod(case.message):
        return _named_pod(case), *case.back()
    if mentions.nothing_made(case.message):
        return case.kubectl(f"describe {case.workload}", "why no pod is made"), *case.back()
    return case.describe(), *case.back()


def _named_pod(case: Case) -> Remedy:
    pod, container = mentions.pod(case.message), mentions.container(case.message)
    if container and mentions.crashed(case.message):
        words = f"logs {pod} -c {container} --previous"
        return case.kubectl(words, "its output before it ended")
    return case.kubectl(f"describe pod {pod}", _EVENTS)


def unready(case: Case) -> tuple[Remedy, ...]:
    """Pods are in trouble, and it is not yet called a stall."""
    found = pods_in_trouble(case.view)
    return tuple(case.kubectl(f"describe pod {pod.name}", _EVENTS) for pod in found)


def paused_by_owner(case: Case) -> tuple[Remedy, ...]:
    """The owner who paused the workload has to resume it."""
    kind = case.summary.workload.partition("/")[0]
    if kind == "Deployment":
        return (case.kubectl(f"rollout resume {case.workload}", "take the pause back"),)
    part = '{"paused":false}'
    strategy = part if kind == "CloneSet" else f'{{"rollingUpdate":{part}}}'
    patch = f'{{"spec":{{"updateStrategy":{strategy}}}}}'
    words = f"patch {case.workload} --type merge -p '{patch}'"
    return (case.kubectl(words, "take the pause back"),)


def no_endpoints(case: Case) -> tuple[Remedy, ...]:
    """One version has no ready pod behind its Service, and the other serves all requests.

    If its pods are ready and the Service selects none of them, a rollback would wait for the Service as well. If
    another template came meanwhile, an approval has no step to end.
    """
    if (misses := mentions.selecting_nothing(case.message)) is not None:
        return of_objects.selector(case, misses)
    if mentions.nobody_would_serve(case.message):
        what = f"FILE: the manifest of {case.workload} with the template of the release so far"
        return (case.kubectl("apply -f FILE", what), *unready(case))
    on = (case.approve("go on without it"),) if case.summary.may_go_on else ()
    back = () if _going_back_would_wait(case) else (case.undo(),)
    return (*on, case.kubectl("get pods", "which pods there are"), *unready(case), *back)


def _going_back_would_wait(case: Case) -> bool:
    """The old pods are there and fail: a rollback would wait for them, and the new ones keep all requests."""
    old = [revision for revision in case.view.revisions if revision.role is Role.STABLE]
    fail = any(revision.pods and not revision.ready for revision in old)
    return fail and mentions.stable_pods_are_missed(case.message)


def stable_gone(case: Case) -> tuple[Remedy, ...]:
    """No pod of the old version is left."""
    return case.undo(), case.ours("promote", "or end the release with the running version")


def template_gone(case: Case) -> tuple[Remedy, ...]:
    """The old template is kept nowhere."""
    what = f"FILE: the manifest of {case.summary.workload} as it was"
    return (case.kubectl("apply -f FILE", what),)


def owners_values(case: Case) -> tuple[Remedy, ...]:
    """The owner's own values are known nowhere."""
    return (case.kubectl(f"edit {case.workload}", "write its owner's values again"),)


def given_up(case: Case) -> tuple[Remedy, ...]:
    """The template was rolled back before."""
    return (case.ours("retry", "try this version again"),)
