"""Deliberate defects of the ends of releases: given-up pods, the last endpoint, and the time that counts as work."""

from tests.mutations.mutation import Mutation, named

LIMITS = "unit/domain/rollout/test_owners_limits.py"
ENDPOINTS = "unit/domain/rollout/test_last_endpoints.py"
WAITS = "unit/domain/rollout/test_chosen_waits.py"

OF_ENDS: tuple[Mutation, ...] = (
    *named(
        "controller.domain.rollout.moving.given_up",
        (
            "the owner's partition protects rolled-back pods",
            "    return context.owners is not None and keeps_old_pods(context)\n",
            "    return False\n",
            f"{LIMITS}::test_a_rollback_leaves_no_pod_of_the_rolled_back_revision",
        ),
        (
            "pods that the owner keeps at an older revision are replaced in a rollback",
            "    keep = (present, ours.stable_revision, *ours.older_revisions)\n",
            "    keep = (present, ours.stable_revision)\n",
            f"{LIMITS}::test_pods_that_the_owner_kept_at_an_older_revision_stay_there_in_a_rollback",
        ),
        (
            "pods of an abandoned revision are not given up",
            "    return [pod for pod in context.workload.pods if present and pod.revision not in keep]\n",
            (
                "    back = context.template_hash == ours.stable_template\n"
                "    return [p for p in context.workload.pods if back and p.revision not in keep]\n"
            ),
            f"{LIMITS}::test_a_success_after_a_third_revision_leaves_no_pod_of_the_abandoned_one",
        ),
    ),
    *named(
        "controller.domain.rollout.finalising",
        (
            "the owner's limits return before the rolled-back pods have left",
            "        return left or Stop(\n",
            "        return Stop(\n",
            f"{LIMITS}::test_the_owners_limits_return_only_when_no_rolled_back_pod_is_left",
        ),
        (
            "a Rollout that goes leaves rolled-back pods",
            "    (FinalisingStep.RESUME_WORKLOAD, _given_up_pods_leave),\n",
            "",
            f"{LIMITS}::test_a_rollout_that_goes_during_a_rollback_leaves_no_rolled_back_pod",
        ),
        (
            "a deleted Rollout waits for ever",
            "    if due <= context.now:\n        return None\n    wake_at",
            "    wake_at",
            f"{LIMITS}::test_a_rollout_does_not_stay_for_ever_for_pods_that_never_become_ready",
        ),
        (
            "a release ends with nobody behind the stable Service",
            "        (FinalisingStep.RESTORE_STABLE_SERVICE, _services_keep_a_pod),\n",
            "",
            f"{ENDPOINTS}::test_a_release_stops_before_the_stable_service_loses_its_last_pod",
        ),
        (
            "a rollback ends with nobody behind the stable Service",
            "        (FinalisingStep.ROUTE_TO_STABLE, _services_keep_a_pod),\n",
            "",
            f"{ENDPOINTS}::test_a_rollback_keeps_the_last_endpoint_and_names_the_selector",
        ),
        (
            "a third revision removes the last endpoint of the stable Service",
            "        (FinalisingStep.ROUTE_TO_STABLE, _services_keep_a_stable_pod),\n",
            "",
            f"{ENDPOINTS}::test_a_rollback_keeps_the_last_endpoint_and_names_the_selector",
        ),
    ),
    *named(
        "controller.domain.rollout.steps",
        (
            "a step that replaces all pods empties the stable Service",
            "    if not (context.leaves_none(index) and context.old_revision_runs):\n",
            "    if index:\n",
            f"{ENDPOINTS}::test_a_release_of_a_set_of_pods_keeps_the_last_endpoint",
        ),
    ),
    *named(
        "controller.domain.rollout.last_endpoints",
        (
            "a Service that had no endpoint before holds the end for ever",
            "        if name not in empty\n",
            "        if name not in empty or empty\n",
            f"{ENDPOINTS}::test_a_service_that_had_no_endpoint_before_the_release_holds_no_end",
        ),
    ),
    *named(
        "controller.domain.rollout.services",
        (
            "a corrected stable Service does not correct its copy",
            "    return same_ports and (same_selector or not _is_outdated(context, stable))\n",
            "    return same_ports\n",
            f"{ENDPOINTS}::test_a_corrected_stable_service_corrects_its_copy",
        ),
    ),
    *named(
        "controller.domain.rollout.empty_side_routes",
        (
            "ready pods that a Service does not select are called not ready",
            "    if not pods or not selector or selects_any(selector, pods):\n",
            "    if selector:\n",
            f"{ENDPOINTS}::test_a_rollback_keeps_the_last_endpoint_and_names_the_selector",
        ),
    ),
    *named(
        "controller.domain.rollout.deadline",
        (
            "grace periods count against the deadline",
            "    if stop.by_choice or _a_name_settles(stop):\n",
            "    if stop.by_choice and not stop.status:\n",
            f"{WAITS}::test_grace_periods_do_not_count_against_the_deadline_of_a_step",
        ),
    ),
)
