"""The test that notices a mutation, among the tests of the mutation's files: it runs first, and alone.

Only time depends on this table. Where a row is missing or no longer true, all tests of the mutation's files are run,
and the printed result says so.
"""

from collections.abc import Mapping

NOTICES: Mapping[str, tuple[str, ...]] = {
    "test_a_revision_that_took_all_pods_is_stable_for_the_next": (
        "a revision that took all pods is not stable for the next",
    ),
    "test_a_missing_service_is_reported_and_nothing_moves": (
        "the objects that the plan names are not checked before the first move",
    ),
    "test_a_present_step_that_asks_for_fewer_pods_begins_no_larger_step": (
        "a lowered step begins a larger one",
    ),
    "test_an_autoscaler_that_another_writer_resumes_is_paused_twice_and_then_reported": (
        "two writers fight over an autoscaler",
    ),
    "test_the_stable_revision_has_its_whole_size_after_scaling": (
        "the old version stays smaller than the workload after scaling",
    ),
    "test_rollback_under_a_full_quota_puts_stable_pods_in_the_places_of_new_ones": (
        "a rollback without room waits for a surge",
    ),
    "test_rollback_outranks_pause": ("a pause outranks a rollback",),
    "test_a_template_that_is_back_before_the_first_look_is_a_rollback": (
        "a rollback before the first look is a release",
    ),
    "test_a_rollback_that_is_reverted_starts_the_release_again": (
        "a third revision is not noticed",
    ),
    "test_a_third_revision_from_any_state_starts_at_step_1": (
        "a third revision is not noticed in the end phase",
        "abandoned pods stay",
    ),
    "test_a_third_revision_leaves_as_many_ready_pods_as_the_owner_wants": (
        "abandoned pods go before stable ones are ready",
    ),
    "test_a_third_revision_of_a_cloneset_leaves_as_many_ready_pods_as_its_owner_wants": (
        "all abandoned pods of a set go at once",
    ),
    "test_the_last_ready_pods_are_not_removed_for_a_third_template": (
        "the last ready pods are removed for a third template",
    ),
    "test_routes_lead_all_traffic_to_stable_once_two_thirds_of_its_pods_are_ready": (
        "routes leave abandoned pods before stable ones are ready",
    ),
    "test_a_shared_route_stays_open_until_two_thirds_of_the_stable_pods_are_ready": (
        "a shared route closes before stable pods are ready",
    ),
    "test_abandoned_pods_go_after_the_deadline_if_too_few_stable_ones_become_ready": (
        "abandoned pods are waited for without an end",
    ),
    "test_a_workload_recreated_during_a_release_starts_from_nothing": (
        "a workload made again counts as the same",
    ),
    "test_scaled_to_zero_a_release_goes_back_to_its_start": (
        "a workload of no replicas goes on through the steps",
    ),
    "test_an_approval_while_the_spec_is_paused_is_kept": (
        "an approval is used up while the spec is paused",
    ),
    "test_a_stable_revision_stays_stable_with_any_other_revision": (
        "the revision that runs after zero replicas is taken for stable",
    ),
    "test_an_approval_in_an_earlier_state_is_reset": (
        "an approval is honoured in every state",
        "an approval that is reset stays in the mailbox",
    ),
    "test_a_client_that_repeats_until_it_sees_another_state_approves_one_step": (
        "a repeated approval is honoured again",
    ),
    "test_an_exact_approval_of_another_step_is_reset": ("an exact approval counts for any step",),
    "test_a_pause_with_a_duration_ends_by_itself_at_that_instant": (
        "a timed pause asks for no wake-up",
    ),
    "test_a_last_step_of_all_replicas_as_a_number_waits": (
        "a last step of all replicas as a number goes on by itself",
    ),
    "test_a_rollback_from_any_state_ends_canceled_on_the_old_template": (
        "a release acts before its position is written",
    ),
    "test_disabling_runs_to_its_end_though_the_rollout_is_enabled_again": (
        "disabling is dropped half-way when it is taken back",
    ),
    "test_deletion_and_disabling_from_any_state_let_the_workload_go_on": (
        "a deleted Rollout goes at once",
        "a deleted Rollout leaves its label behind",
    ),
    "test_a_workload_that_cannot_be_released_is_reported_once_and_not_touched": (
        "a problem is an Event each time it is looked at",
    ),
    "test_another_reason_moves_the_update_time_and_another_value_the_transition_time": (
        "a condition's transition time stands still",
    ),
    "test_routes_are_restored_after_the_workload_is_upgraded": (
        "success restores the routes before the workload is upgraded",
    ),
    "test_ready_new_pods_of_a_step_are_noted_on_the_deployment_by_its_last_move": (
        "success upgrades the workload behind a pinned Service",
    ),
    "test_rollback_moves_traffic_before_pods": (
        "a rollback un-pins before the rejected pods are gone",
    ),
    "test_a_third_revision_behind_a_shared_service_keeps_the_grace_period_too": (
        "a third revision behind a shared Service ignores the margin",
    ),
    "test_canary_service_outlives_the_routes_by_the_grace_period": (
        "the canary Service goes with the routes",
    ),
    "test_rollback_with_too_few_stable_pods_grows_them_before_the_traffic_comes_back": (
        "few stable pods take all traffic back",
    ),
    "test_a_rollout_that_never_released_removes_no_pin_before_the_other_has_a_canary_service": (
        "a Rollout un-pins what another one pinned",
    ),
    "test_scripts_are_rehearsed_before_a_new_pod_exists": (
        "pods are made before the scripts are heard",
    ),
    "test_a_step_with_traffic_waits_for_an_approval_with_pods_ready_and_the_route_moved": (
        "the stable Service is never pinned",
        "the admission pause is not ended",
    ),
    "test_a_batch_waits_for_unready_pods_and_a_threshold_lets_it_pass": (
        "traffic does not wait for ready pods",
    ),
    "test_partition_style_grows_beside_the_old_and_gives_their_share_back_after_the_route": (
        "the old share goes before the route has moved",
    ),
    "test_a_scaled_canary_release_grows_and_never_shrinks": (
        "nothing is repaired while a step waits",
        "the extra Deployment shrinks with the workload",
    ),
    "test_a_step_without_traffic_restores_the_routes_of_the_one_before": (
        "a step without traffic keeps the routes of the one before",
    ),
    "test_a_canary_deployment_deleted_before_its_route_is_made_again_before_it": (
        "a canary Deployment that vanished before its route is not made again",
    ),
    "test_the_grace_period_lies_between_ready_endpoints_and_the_first_route": (
        "the first route does not wait for the margin",
    ),
    "test_no_route_before_every_ready_new_pod_is_an_endpoint": (
        "the first route does not wait for endpoints",
    ),
    "test_the_grace_period_starts_when_endpoints_are_seen_and_not_when_pods_are_ready": (
        "endpoints count before they are there",
    ),
    "test_a_gateway_that_cannot_match_is_left_out_of_that_step_only": (
        "a gateway object that cannot match is still asked for matches",
    ),
    "test_touched_routes_are_put_back_while_a_step_waits": ("touched routes are left as they are",),
    "test_the_grace_period_lies_between_the_route_and_the_old_share": (
        "the instant of a route is forgotten",
        "the old share goes without a margin",
    ),
    "test_an_instant_that_was_lost_counts_as_now": ("an instant that was lost counts as long ago",),
    "test_a_partition_step_of_all_replicas_unpins_first_and_leaves_the_route": (
        "a Service stays pinned though a step takes all pods",
    ),
    "test_a_release_that_routes_later_is_pinned_from_the_first_step": (
        "only a first step with traffic pins",
    ),
    "test_an_object_behind_a_route_is_restored_a_grace_period_after_the_route": (
        "the object behind a route is restored together with the route",
        "all is given back in one pass",
    ),
    "test_each_object_follows_a_grace_period_after_the_one_that_it_names": (
        "the wait for a subset counts from the subset before it",
        "a subset is named at once after the pass that saw it",
    ),
    "test_a_route_that_leads_again_is_noted_before_it_is_restored_again": (
        "a grace period is counted from the record of an earlier one",
    ),
    "test_a_shared_route_that_is_shut_is_restored_from_the_top_down_a_grace_period_apart": (
        "the object behind a closed shared route is restored together with the route",
    ),
    "test_the_record_of_an_earlier_descent_is_removed_before_a_route_moves": (
        "an earlier descent is kept while a route moves",
    ),
    "test_scaled_in_at_once_never_makes_a_new_pod_too_many": (
        "limits that round to nothing are taken for nothing",
    ),
    "test_a_release_waits_for_a_workload_that_its_owner_pauses_and_reports_it": (
        "an owner's pause is overrun",
    ),
    "test_a_deployment_controller_that_has_not_caught_up_is_waited_for": (
        "a Deployment controller that lags behind is not waited for",
    ),
    "test_a_jump_back_from_all_pods_finds_no_old_ones_and_routes_nothing": (
        "a step that finds no old pod is pinned to nothing",
    ),
    "test_the_share_of_old_pods_that_may_go_is_written_as_a_percentage": (
        "maxUnavailable is written as a count",
    ),
    "test_the_next_limits_follow_from_the_present_ones": (
        "old pods go before new ones are ready",
        "the owner's maxSurge is exceeded",
    ),
    "test_the_owners_min_ready_seconds_count_before_traffic": (
        "the owner's minReadySeconds does not count",
    ),
    "test_the_failure_threshold_tolerates_unready_pods": ("a batch of broken pods passes",),
    "test_a_replaced_pod_takes_the_number_of_the_one_it_replaces": (
        "terminating pods take the number of their successors",
    ),
    "test_a_content_that_comes_during_the_way_back_is_released_afterwards": (
        "a content that comes on the way back is released at once",
        "a newer content is overwritten by the way back",
    ),
    "test_a_copy_of_another_time_is_not_restored": ("a copy of another content is restored",),
    "test_a_content_can_come_back_to_a_template_that_has_its_stamp_already": (
        "a content that was there before is not released again",
    ),
    "test_a_content_that_is_put_back_during_a_release_is_a_rollback": (
        "a content that is restored by its owner is a third revision",
    ),
    "test_taking_the_annotation_off_gives_up_on_steps": (
        "a way back in batches goes on without its annotation",
    ),
    "test_the_way_back_walks_the_steps_over_the_pods_that_left": (
        "pods that never left are not told from those that came back",
    ),
    "test_new_pods_are_named_once_the_status_counts_them_as_ready": (
        "a pod is named to go before its controller knows it as ready",
    ),
    "test_a_template_that_comes_on_the_way_to_zero_again_is_released_over_the_stable_revision": (
        "a revision that returned from zero without an approval is stable for the next release",
    ),
    "test_a_third_revision_gets_no_more_than_its_step_where_stable_is_filled_up_late": (
        "the share of abandoned pods is room for new ones",
    ),
    "test_serving_pods_are_removed_only_after_stable_pods_are_ready": (
        "ReplicaSets that returned from zero are emptied before stable pods are ready",
    ),
    "test_the_routes_stay_with_the_new_pods_while_the_cloneset_counts_old_ones": (
        "a doubled CloneSet is over while old pods are there",
    ),
}
"""Mutations by the test that notices them."""

NOTICED_BY = {mutation: test for test, mutations in NOTICES.items() for mutation in mutations}
