"""Deliberate defects of the status, of the share between two steps, and of objects that a former Rollout left."""

from tests.mutations.mutation import Mutation, named

OF_PROMISES: tuple[Mutation, ...] = (
    *named(
        "controller.reconcilers.unclaimed",
        (
            "a Rollout of another namespace keeps the objects of a copy",
            "    here = any(rollout.metadata.namespace == made.namespace for rollout in rollouts)\n",
            "    here = any(rollouts)\n",
            "unit/domain/rollout/test_claiming.py::test_the_objects_of_a_copied_namespace_are_claimed_while_the_first_rollout_lives",
        ),
        (
            "an extra Deployment that a former Rollout left is not claimed",
            "        if not meta.deleting and _has_lost_its_rollout(",
            "        if meta.deleting and _has_lost_its_rollout(",
            "unit/domain/rollout/test_claiming.py::test_the_objects_of_a_former_rollout_go_with_the_release",
        ),
    ),
    *named(
        "controller.domain.rollout.claiming",
        (
            "a workload that was made again has nothing to restore",
            "    if not _has_left_something(context):\n",
            "    if context.seen.workload is not None:\n",
            "unit/domain/rollout/test_claiming.py::test_objects_left_beside_a_recreated_workload_are_restored",
        ),
    ),
    *named(
        "controller.domain.rollout.other_workloads",
        (
            "pods of another workload lose their requests without a warning",
            "        if number\n",
            "        if number < 0\n",
            "unit/domain/rollout/test_other_workloads.py::test_pods_of_another_workload_behind_a_pinned_service_are_warned_of_once",
        ),
    ),
    *named(
        "controller.domain.rollout.services",
        (
            "two releases pin one Service in turn",
            "        and not context.is_pinned_by_another(name)\n    )\n\n\ndef unpin(",
            "    )\n\n\ndef unpin(",
            "unit/domain/rollout/test_obstacles.py::test_only_one_of_two_simultaneous_releases_pins_the_service",
        ),
    ),
    *named(
        "controller.domain.pods.canary",
        (
            "the extra Deployment adopts the stable ReplicaSet",
            "    if not others:\n",
            "    if others is not None:\n",
            "unit/domain/pods/test_deployment.py::test_the_extra_deployment_adopts_no_replica_set_that_the_workload_leaves",
        ),
    ),
    *named(
        "controller.domain.rollout.steps",
        (
            "the share is taken away between two steps",
            "    if not context.step(index).routes_traffic and not context.takes_all(index):\n",
            "    if not context.takes_all(index):\n",
            "unit/domain/rollout/test_releases.py::test_the_share_stays_until_the_next_step_gives_more",
        ),
    ),
    *named(
        "controller.domain.rollout.beginning",
        (
            "a release begins as one that has succeeded",
            '    status = without_condition(without_condition(status, "Succeeded"), DRIFTED)\n',
            "    status = without_condition(status, DRIFTED)\n",
            "unit/domain/rollout/test_phases.py::test_the_succeeded_condition_goes_when_the_next_release_begins",
        ),
    ),
    *named(
        "controller.domain.rollout.finalising",
        (
            "a restore that stopped half-way is taken back",
            " or _is_promoted(context, status)\n",
            "\n",
            "unit/domain/rollout/test_blue_green.py::test_a_restore_that_stopped_half_way_goes_on_and_gives_no_share_again",
        ),
        (
            "the routes return while old pods are among the endpoints",
            "    return Stop(status=status) if leaving else None\n",
            "    return None\n",
            "unit/domain/rollout/test_routing.py::test_routes_are_not_restored_while_the_stable_service_leads_to_a_deleted_pod",
        ),
    ),
    *named(
        "controller.domain.rollout.phases",
        (
            "the status tells the generation that was looked at first",
            "        stop.status, observed_generation=context.seen.rollout.metadata.generation\n",
            (
                "        stop.status, observed_generation=stop.status.observed_generation\n"
                "        or context.seen.rollout.metadata.generation\n"
            ),
            "unit/domain/rollout/test_phases.py::test_the_status_has_the_observed_generation",
        ),
    ),
    *named(
        "controller.domain.conditions",
        (
            "a condition that is itself again after a pass gets another transition time",
            "    return structs.replace(new, last_transition_time=old.last_transition_time)\n",
            "    return new\n",
            "unit/domain/test_conditions.py::test_a_condition_that_returns_after_a_pass_keeps_its_transition_time",
        ),
    ),
    *named(
        "controller.scripts.client",
        (
            "a certificate that is not accepted looks like a worker that does not run",
            '        untrusted = "handshake failed" in (error.details() or "")\n',
            "        untrusted = False\n",
            "component/scripts/test_client.py::test_a_rejected_certificate_is_reported_with_the_place_to_look",
        ),
    ),
)
