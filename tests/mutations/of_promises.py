"""Deliberate defects of the status, of the share between two steps, and of objects that a former Rollout left."""

from tests.mutations.changes import always, assigns, becomes, negated, never, returns, without
from tests.mutations.mutation import Mutation, named

OF_PROMISES: tuple[Mutation, ...] = (
    *named(
        "controller.reconcilers.unclaimed",
        (
            "a Rollout of another namespace keeps the objects of a copy",
            "_has_lost_its_rollout",
            becomes("made rollouts", "rollouts"),
            "unit/domain/rollout/routes/test_claiming.py::test_the_objects_of_a_copied_namespace_are_claimed_while_the_first_rollout_lives",
        ),
        (
            "an extra Deployment that a former Rollout left is not claimed",
            "_extra_deployments",
            negated("deleting"),
            "unit/domain/rollout/routes/test_claiming.py::test_the_objects_of_a_former_rollout_go_with_the_release",
        ),
    ),
    *named(
        "controller.domain.rollout.words.way_out",
        (
            "a release that has moved is told to correct its reference",
            "create_or",
            always("references_may_change"),
            "unit/domain/rollout/words/test_way_out.py::test_in_the_middle_of_a_release_an_object_can_only_be_created_again",
        ),
    ),
    *named(
        "controller.domain.rollout.routes.claiming",
        (
            "a workload that was made again has nothing to restore",
            "left_at_rest",
            never("_has_left_something"),
            "unit/domain/rollout/routes/test_claiming.py::test_objects_left_beside_a_recreated_workload_are_restored",
        ),
    ),
    *named(
        "controller.domain.rollout.routes.other_workloads",
        (
            "pods of another workload lose their requests without a warning",
            "_pins_with_other_pods",
            never("number"),
            "unit/domain/rollout/routes/test_other_workloads.py::test_pods_of_another_workload_behind_a_pinned_service_are_warned_of_once",
        ),
        (
            "a pin empties the subset of another workload",
            "would_empty_a_subset",
            never("subsets"),
            "unit/domain/rollout/routes/test_other_workloads.py::test_a_pin_that_would_empty_the_subset_of_another_workload_is_refused_before_a_pod_is_made",
        ),
    ),
    *named(
        "controller.domain.rollout.routes.services",
        (
            "two releases pin one Service in turn",
            "pinned",
            without("is_pinned_by_another"),
            "unit/domain/rollout/test_obstacles.py::test_only_one_of_two_simultaneous_releases_pins_the_service",
        ),
    ),
    *named(
        "controller.domain.pods.canary",
        (
            "the extra Deployment adopts the stable ReplicaSet",
            "_selector_without",
            always("others"),
            "unit/domain/pods/test_deployment.py::test_the_extra_deployment_adopts_no_replica_set_that_the_workload_leaves",
        ),
    ),
    *named(
        "controller.domain.rollout.steps",
        (
            "the share is taken away between two steps",
            "_before_upgrade",
            negated("target traffic ORIGINAL"),
            "unit/domain/rollout/test_releases.py::test_the_share_stays_until_the_next_step_gives_more",
        ),
    ),
    *named(
        "controller.domain.rollout.beginning",
        (
            "a release begins as one that has succeeded",
            "begin",
            becomes("Succeeded without_condition", "release"),
            "unit/domain/rollout/test_phases.py::test_the_succeeded_condition_goes_when_the_next_release_begins",
        ),
    ),
    *named(
        "controller.domain.rollout.ends.finalising",
        (
            "a restore that stopped half-way is taken back",
            "_route_to_new",
            without("_is_promoted"),
            "unit/domain/rollout/styles/test_blue_green.py::test_a_restore_that_stopped_half_way_goes_on_and_gives_no_share_again",
        ),
        (
            "the routes return while old pods are among the endpoints",
            "_old_pods_have_left",
            returns("None", "leaving"),
            "unit/domain/rollout/routes/test_routing.py::test_routes_are_not_restored_while_the_stable_service_leads_to_a_deleted_pod",
        ),
    ),
    *named(
        "controller.domain.rollout.phases",
        (
            "the status tells the generation that was looked at first",
            "_decision",
            becomes("observed_generation", "stop.status.observed_generation or it"),
            "unit/domain/rollout/test_phases.py::test_the_status_has_the_observed_generation",
        ),
    ),
    *named(
        "controller.domain.conditions",
        (
            "a condition that is itself again after a pass gets another transition time",
            "_settled",
            becomes("replace", "new"),
            "unit/domain/test_conditions.py::test_a_condition_that_returns_after_a_pass_keeps_its_transition_time",
        ),
    ),
    *named(
        "controller.scripts.worker_client",
        (
            "a certificate that is not accepted looks like a worker that does not run",
            "ScriptClient._unavailable",
            assigns("untrusted", "False"),
            "component/scripts/test_worker_client.py::test_a_rejected_certificate_is_reported_with_the_place_to_look",
        ),
    ),
)
