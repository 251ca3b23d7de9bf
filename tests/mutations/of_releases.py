"""Deliberate defects of a release's transitions: phases, steps, pauses, routes, ends."""

from tests.mutations.changes import (
    always,
    assigns,
    at_key,
    becomes,
    compares,
    condition,
    in_condition,
    never,
    returns,
    swapped,
    within,
    without,
)
from tests.mutations.mutation import (
    ABANDONED,
    ABANDONED_PODS,
    APPROVALS,
    DISTURBANCES,
    FROM_ZERO,
    LEFT_OUT,
    PHASES,
    REHEARSAL,
    RELEASES,
    RESTORING,
    ROUTING,
    SHARED_CAPACITY,
    STABLE_CAPACITY,
    Mutation,
    of,
)

OF_RELEASES: tuple[Mutation, ...] = (
    *of(
        "rollout.beginning",
        (
            "a revision that took all pods is not stable for the next",
            "stable_after",
            always("taking"),
        ),
        (
            "a revision that returned from zero without an approval is stable for the next release",
            "stable_after",
            never("SUCCESS undo_leads_to_stable"),
            ABANDONED,
        ),
        (
            "the objects that the plan names are not checked before the first move",
            "check_before_the_first_move",
            never("problem"),
        ),
    ),
    *of(
        "rollout.trouble.disturbances",
        (
            "a pause outranks a rollback",
            "rolled_back",
            assigns(
                "back",
                "not release.seen.rollout.spec.strategy.paused and release.template_hash == ours.stable_template",
            ),
        ),
        (
            "a rollback before the first look is a release",
            "rolled_back",
            assigns("known_already", "_expected(release)"),
        ),
        (
            "a third revision is not noticed",
            "another_revision_came",
            returns("False"),
        ),
        (
            "a third revision is not noticed in the end phase",
            "another_revision_came",
            becomes("_expected", "release.ours.goal == Goal.SUCCESS or it"),
        ),
        (
            "a workload made again counts as the same",
            "workload_was_replaced",
            returns("False"),
        ),
        (
            "a workload of no replicas goes on through the steps",
            "scaled_away",
            returns("False"),
        ),
    ),
    *of(
        "rollout.release",
        (
            "an approval is used up while the spec is paused",
            "OF_THE_STEP",
            swapped("is_paused", "read_mailbox"),
            APPROVALS,
        ),
        (
            "the revision that runs after zero replicas is taken for stable",
            "_refreshed",
            in_condition("returning", without("stable_revision")),
            FROM_ZERO,
        ),
    ),
    *of(
        "rollout.approvals.pause",
        (
            "an approval is honoured in every state",
            "_may_be_approved",
            always("STEP_PAUSED"),
        ),
        (
            "a repeated approval is honoured again",
            "pause_is_too_soon",
            returns("False"),
        ),
        (
            "an exact approval counts for any step",
            "exact_approval",
            without("step"),
        ),
        (
            "an approval that is reset stays in the mailbox",
            "read_mailbox",
            becomes("_mirror_restored", "emptied"),
        ),
        (
            "a timed pause asks for no wake-up",
            "decide_pause",
            without("wake_at"),
        ),
        (
            "a last step of all replicas as a number goes on by itself",
            "last_step_needs_no_pause",
            becomes("replicas 100%", "release.batch(index) >= release.replicas"),
            RELEASES,
        ),
    ),
    *of(
        "rollout.phases",
        (
            "a release acts before its position is written",
            "_healthy",
            returns("begun", "begun"),
            DISTURBANCES,
        ),
        (
            "disabling is dropped half-way when it is taken back",
            "_is_disabled",
            without("DISABLING"),
            DISTURBANCES,
        ),
        (
            "a deleted Rollout goes at once",
            "_terminating",
            never("stop"),
            DISTURBANCES,
        ),
        (
            "a problem is an Event each time it is looked at",
            "_reported_once",
            never("old message"),
        ),
    ),
    *of(
        "conditions",
        (
            "a condition's transition time stands still",
            "set_condition",
            assigns("moved", "old is None"),
            PHASES,
        ),
    ),
    *of(
        "rollout.ends.stable_capacity",
        (
            "few stable pods take all traffic back",
            "stable_pods_are_needed",
            becomes("ready enough_for_all_traffic", "not ready"),
            STABLE_CAPACITY,
        ),
        (
            "a shared route closes before stable pods are ready",
            "stable_pods_are_needed",
            without("shared_route_is_open"),
            SHARED_CAPACITY,
        ),
        (
            "routes leave abandoned pods before stable ones are ready",
            "replace_abandoned",
            becomes("replace_abandoned", "None"),
            ABANDONED_PODS,
        ),
    ),
    *of(
        "rollout.trouble.serving_alone",
        (
            "the last ready pods are removed for a third template",
            "abandoned_pods_serve_alone",
            always("others_serve"),
            "rollout/trouble/test_serving_alone.py",
        ),
    ),
    *of(
        "rollout.ends.finalising",
        (
            "success restores the routes before the workload is upgraded",
            "_SEQUENCES",
            at_key("SUCCESS", swapped("_promote", "_ROUTES_RETURN")),
        ),
        (
            "success upgrades the workload behind a pinned Service",
            "_SEQUENCES",
            at_key("SUCCESS", swapped("_unpin_and_wait_for_endpoints", "_promote")),
        ),
        (
            "a rollback un-pins before the rejected pods are gone",
            "_SEQUENCES",
            at_key("ROLLBACK", swapped("_resume_workload", "_unpin")),
            DISTURBANCES,
        ),
        (
            "a third revision behind a shared Service ignores the margin",
            "_SEQUENCES",
            at_key("CONTINUOUS", becomes("_ROUTES_HAVE_LEFT", "_ROUTES_RETURN")),
            ROUTING,
        ),
        (
            "the canary Service goes with the routes",
            "_remove_canary",
            without("_grace_period"),
        ),
        (
            "a Rollout un-pins what another one pinned",
            "_unpin",
            always("workload_uid"),
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.steps",
        (
            "pods are made before the scripts are heard",
            "_upgrade",
            swapped("rehearsal", "actions"),
            REHEARSAL,
        ),
        (
            "the stable Service is never pinned",
            "_upgrade",
            becomes("pin", "()"),
        ),
        (
            "traffic does not wait for ready pods",
            "_upgrade",
            never("batch_is_ready"),
        ),
        (
            "the old share goes before the route has moved",
            "_pods_of_step",
            becomes("give_back", "True"),
        ),
        (
            "nothing is repaired while a step waits",
            "_with_all_kept",
            becomes("_kept", "()"),
            DISTURBANCES,
        ),
        (
            "a step without traffic keeps the routes of the one before",
            "_before_upgrade",
            never("restored"),
        ),
        (
            "a canary Deployment that vanished before its route is not made again",
            "_route",
            condition("regrown", "it and index < 1"),
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.routes.routing",
        (
            "the first route does not wait for the margin",
            "endpoints_grace_period",
            never("due"),
            RELEASES,
        ),
        (
            "the first route does not wait for endpoints",
            "endpoints_grace_period",
            condition("ready_endpoints new", "any(name not in since for name in wanted)"),
        ),
        (
            "endpoints count before they are there",
            "endpoints_seen",
            without("ready_endpoints"),
        ),
        (
            "a gateway object that cannot match is still asked for matches",
            "_plan_of",
            without("left_out"),
            LEFT_OUT,
        ),
        (
            "touched routes are left as they are",
            "_ensured",
            within("plan touched", without("touched")),
            DISTURBANCES,
        ),
        (
            "the instant of a route is forgotten",
            "_noted_plan",
            without("routed_at now"),
            RELEASES,
        ),
        (
            "an instant that was lost counts as long ago",
            "_noted_plan",
            assigns("lost", "False"),
            RESTORING,
        ),
    ),
    *of(
        "target",
        (
            "a Service stays pinned though a step takes all pods",
            "target_of",
            becomes("Pinned NO replaces_all", "_pinned(plan, index, step, traffic)"),
            RELEASES,
        ),
        (
            "only a first step with traffic pins",
            "_pinned",
            becomes("from_here _any_routes", "step.routes_traffic"),
            RELEASES,
        ),
    ),
    *of(
        "rollout.routes.restoring",
        (
            "the object behind a route is restored together with the route",
            "restore",
            condition("due", "it and depth < 1"),
        ),
        (
            "a grace period is counted from the record of an earlier one",
            "restore_depth_zero",
            becomes("marks_partial_restore", "not known"),
        ),
    ),
    *of(
        "traffic.named_content",
        (
            "the wait for a subset counts from the subset before it",
            "noted",
            without("known content"),
        ),
        (
            "a subset is named at once after the pass that saw it",
            "settles_in",
            condition("known", "it or known.since != now"),
        ),
    ),
    *of(
        "traffic.restoring.teardown_order",
        (
            "all is given back in one pass",
            "next_to_restore",
            always("_depth"),
        ),
    ),
    *of(
        "trafficrouting.moving",
        (
            "the object behind a closed shared route is restored together with the route",
            "move_routes",
            compares("due", "<"),
        ),
        (
            "an earlier descent is kept while a route moves",
            "move_routes",
            never("known"),
        ),
    ),
)
