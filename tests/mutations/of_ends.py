"""Deliberate defects of the ends of releases: given-up pods, the last endpoint, and the time that counts as work."""

from tests.mutations.changes import (
    always,
    at_key,
    becomes,
    in_condition,
    never,
    returns,
    without,
)
from tests.mutations.mutation import Mutation, named

LIMITS = "unit/domain/rollout/test_owners_limits.py"
ENDPOINTS = "unit/domain/rollout/ends/test_last_endpoints.py"
MISSING = "unit/domain/rollout/ends/test_missing_services.py"
PINS = "unit/domain/rollout/ends/test_former_pins.py"
LEFT = "unit/domain/rollout/routes/test_left_changes.py"
WAITS = "unit/domain/rollout/test_chosen_waits.py"

OF_ENDS: tuple[Mutation, ...] = (
    *named(
        "controller.domain.rollout.moving.given_up",
        (
            "the owner's partition protects rolled-back pods",
            "owner_limits_updates",
            returns("False"),
            f"{LIMITS}::test_a_rollback_leaves_no_pod_of_the_rolled_back_revision",
        ),
        (
            "pods that the owner keeps at an older revision are replaced in a rollback",
            "given_up_pods",
            without("older_revisions"),
            f"{LIMITS}::test_pods_that_the_owner_kept_at_an_older_revision_stay_there_in_a_rollback",
        ),
        (
            "pods of an abandoned revision are not given up",
            "given_up_pods",
            becomes(
                "present keep",
                "release.template_hash == ours.stable_template and pod.revision not in keep",
            ),
            f"{LIMITS}::test_a_success_after_a_third_revision_leaves_no_pod_of_the_abandoned_one",
        ),
    ),
    *named(
        "controller.domain.rollout.ends.finalising",
        (
            "the owner's limits return before the rolled-back pods have left",
            "_resume_workload",
            without("left"),
            f"{LIMITS}::test_the_owners_limits_return_only_when_no_rolled_back_pod_is_left",
        ),
        (
            "a Rollout that goes leaves rolled-back pods",
            "_GIVEN_UP",
            without("RESUME_WORKLOAD _given_up_pods_leave"),
            f"{LIMITS}::test_a_rollout_that_goes_during_a_rollback_leaves_no_rolled_back_pod",
        ),
        (
            "a deleted Rollout waits for ever",
            "_for_a_while",
            never("due"),
            f"{LIMITS}::test_a_rollout_does_not_stay_for_ever_for_pods_that_never_become_ready",
        ),
        (
            "a release ends with nobody behind the stable Service",
            "_SEQUENCES",
            at_key("SUCCESS", without("RESTORE_STABLE_SERVICE _services_keep_a_pod")),
            f"{ENDPOINTS}::test_a_release_stops_before_the_stable_service_loses_its_last_pod",
        ),
        (
            "a rollback ends with nobody behind the stable Service",
            "_SEQUENCES",
            at_key("ROLLBACK", without("ROUTE_TO_STABLE _services_keep_a_pod")),
            f"{ENDPOINTS}::test_a_rollback_keeps_the_last_endpoint_and_names_the_selector",
        ),
        (
            "a third revision removes the last endpoint of the stable Service",
            "_SEQUENCES",
            at_key("CONTINUOUS", without("ROUTE_TO_STABLE _services_keep_a_stable_pod")),
            f"{ENDPOINTS}::test_a_rollback_keeps_the_last_endpoint_and_names_the_selector",
        ),
    ),
    *named(
        "controller.domain.rollout.ends.last_endpoints",
        (
            "an end moves requests to a Service that does not exist",
            "missing_behind_routes",
            returns("None"),
            f"{MISSING}::test_a_rollback_keeps_the_routes_on_the_ready_side_while_the_service_is_missing",
        ),
        (
            "a release is Healthy without its Service",
            "endpoints_are_missing",
            never("release service name"),
            f"{MISSING}::test_no_end_is_reached_without_the_service_whenever_it_is_deleted",
        ),
    ),
    *named(
        "controller.domain.rollout.steps",
        (
            "a step that replaces all pods empties the stable Service",
            "_would_empty_a_service",
            always("replaces_all"),
            f"{ENDPOINTS}::test_a_release_of_a_set_of_pods_keeps_the_last_endpoint",
        ),
    ),
    *named(
        "controller.domain.rollout.ends.last_endpoints",
        (
            "a Service that had no endpoint before holds the end for ever",
            "_own_services_to_keep",
            always("empty"),
            f"{ENDPOINTS}::test_a_service_that_had_no_endpoint_before_the_release_holds_no_end",
        ),
    ),
    *named(
        "controller.domain.rollout.routes.services",
        (
            "a former Rollout's pin of a named Service stays for ever",
            "unpin_for_this_workload",
            returns("()", "unpin release"),
            f"{PINS}::test_a_rollout_made_again_disabled_frees_the_service",
        ),
        (
            "a former Rollout's pin to nobody stays for ever",
            "_is_pinned_for_it",
            returns("False", "ready_pods_if_unpinned"),
            f"{PINS}::test_a_pin_to_a_revision_that_has_no_pod_is_taken_off",
        ),
        (
            "the last pod behind a former Rollout's pin is removed",
            "former_pins",
            returns("()", "UnpinService"),
            f"{PINS}::test_a_rollout_made_again_without_its_routes_frees_the_service",
        ),
        (
            "the pin of another workload's pods is taken off",
            "_leads_to_this_workload",
            returns("True"),
            f"{PINS}::test_the_pin_of_pods_of_another_workload_is_left_alone",
        ),
        (
            "a corrected stable Service does not correct its copy",
            "_is_its_copy",
            returns("same_ports", "_is_outdated"),
            f"{ENDPOINTS}::test_a_corrected_stable_service_corrects_its_copy",
        ),
    ),
    *named(
        "controller.domain.rollout.routes.restoring",
        (
            "a route keeps naming what a left change has removed",
            "lead_away_from_a_left_change",
            never("routes_lead"),
            f"{LEFT}::test_objects_that_name_it_lead_to_stable_until_it_is_right_again",
        ),
        (
            "requests are led to stable pods that are not ready",
            "lead_away_from_a_left_change",
            in_condition("names_nothing", without("stable_uids")),
            f"{LEFT}::test_the_share_stays_where_no_stable_pod_could_take_it",
        ),
    ),
    *named(
        "controller.domain.rollout.routes.routing",
        (
            "an object that was restored for a left change counts as replaced by others",
            "noted_drift",
            in_condition("unwritten", without("marks_partial_restore")),
            f"{LEFT}::test_objects_that_name_it_lead_to_stable_until_it_is_right_again",
        ),
    ),
    *named(
        "controller.domain.traffic.drift.policy",
        (
            "a left change of an object that others name leads nothing away",
            "drift_among",
            without("names_nothing"),
            f"{LEFT}::test_objects_that_name_it_lead_to_stable_until_it_is_right_again",
        ),
    ),
    *named(
        "controller.reconcilers.unclaimed",
        (
            "the pin of a Rollout that lives is taken off",
            "former_pins",
            without("index NAMED"),
            f"{PINS}::test_the_pin_of_another_rollout_is_left_alone",
        ),
    ),
    *named(
        "controller.domain.rollout.routes.empty_side_routes",
        (
            "ready pods that a Service does not select are called not ready",
            "_selecting_no_ready_pod",
            always("selects_any"),
            f"{ENDPOINTS}::test_a_rollback_keeps_the_last_endpoint_and_names_the_selector",
        ),
    ),
    *named(
        "controller.domain.rollout.trouble.deadline",
        (
            "grace periods count against the deadline",
            "with_deadline",
            never("by_choice"),
            f"{WAITS}::test_grace_periods_do_not_count_against_the_deadline_of_a_step",
        ),
    ),
)
