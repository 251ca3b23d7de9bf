"""Deliberate defects in moving pods, in counting pods, and in the configuration that they read."""

from tests.mutations.changes import (
    always,
    assigns,
    becomes,
    compares,
    in_condition,
    never,
    only,
    returns,
    within,
    without,
)
from tests.mutations.mutation import (
    ABANDONED,
    ABANDONED_IN_SETS,
    ABANDONED_PODS,
    AUTOSCALERS,
    BEHIND,
    CONTENT,
    CONTENT_LOST,
    DISTURBANCES,
    DOUBLED,
    DOUBLING,
    JUMP,
    LABELS,
    RELEASES,
    RETURNING,
    ROLLING_LIMITS,
    STABLE_CAPACITY,
    Mutation,
    of,
)

OF_PODS: tuple[Mutation, ...] = (
    *of(
        "pods.deployment",
        (
            "limits that round to nothing are taken for nothing",
            "read_rolling_limits",
            becomes("unavailable surge min", "unavailable"),
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.styles.blue_green",
        (
            "the old version stays smaller than the workload after scaling",
            "BlueGreenDeployment.regrow",
            without("size stable"),
            "rollout/styles/test_blue_green.py",
        ),
    ),
    *of(
        "rollout.moving.autoscalers",
        (
            "two writers fight over an autoscaler",
            "hold",
            never("until"),
            AUTOSCALERS,
        ),
    ),
    *of(
        "rollout.approvals.replanning",
        (
            "a lowered step begins a larger one",
            "place_in_plan",
            within("next", compares("target", ">=")),
            JUMP,
        ),
    ),
    *of(
        "rollout.styles.paced_deployment",
        (
            "a rollback without room waits for a surge",
            "_in_the_places_of_new_pods",
            always("_is_without_room"),
            STABLE_CAPACITY,
        ),
        (
            "the old share goes without a margin",
            "PacedDeployment.old_share",
            becomes("grace_period_end", "None"),
        ),
        (
            "the share of abandoned pods is room for new ones",
            "before_first_move",
            never("wanted"),
            BEHIND,
        ),
    ),
    *of(
        "rollout.moving.abandoned",
        (
            "abandoned pods stay",
            "clear_abandoned",
            never("left"),
            DISTURBANCES,
        ),
        (
            "abandoned pods go before stable ones are ready",
            "replace_abandoned",
            assigns("there_are_enough", "True"),
            ABANDONED_PODS,
        ),
        (
            "abandoned pods are waited for without an end",
            "replace_abandoned",
            in_condition("there_are_enough", without("due")),
            ABANDONED_PODS,
        ),
    ),
    *of(
        "rollout.moving.abandoned_pods",
        (
            "all abandoned pods of a set go at once",
            "replace_abandoned_pods",
            assigns("spare", "ready.ready"),
            ABANDONED_IN_SETS,
        ),
    ),
    *of(
        "rollout.moving.from_zero",
        (
            "ReplicaSets that returned from zero are emptied before stable pods are ready",
            "FromZero.bring_stable_back",
            without("ready"),
            ABANDONED,
        ),
    ),
    *of(
        "rollout.moving.deployments",
        (
            "the admission pause is not ended",
            "paced",
            becomes("ADMISSION_PAUSE", "''"),
        ),
        (
            "a deleted Rollout leaves its label behind",
            "marks_to_remove",
            never("drop_label"),
            DISTURBANCES,
        ),
        (
            "an owner's pause is overrun",
            "kept_paused",
            always("paused_by_its_owner"),
            DISTURBANCES,
        ),
        (
            "a Deployment controller that lags behind is not waited for",
            "blocked_workload",
            returns("None"),
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.styles.extra_deployment",
        (
            "the extra Deployment shrinks with the workload",
            "canary_size_is_wrong",
            compares("batch", "!="),
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.words.release_context",
        (
            "a step that finds no old pod is pinned to nothing",
            "ReleaseContext.target",
            without("beside_old_pods"),
            JUMP,
        ),
    ),
    *of(
        "pods.deployment",
        (
            "maxUnavailable is written as a count",
            "write_rolling_limits",
            returns(
                "WrittenLimits(f'{100 * surge // replicas}%', rolling_limits.unavailable)",
                "surge replicas",
            ),
            ROLLING_LIMITS,
        ),
    ),
    *of(
        "pods.pacing",
        (
            "old pods go before new ones are ready",
            "next_rolling_limits",
            in_condition("give_back", without("ready")),
            ROLLING_LIMITS,
        ),
        (
            "the owner's maxSurge is exceeded",
            "_grow",
            assigns("surge", "wanted - current.unavailable"),
            ROLLING_LIMITS,
        ),
    ),
    *of(
        "pods.readiness",
        (
            "the owner's minReadySeconds does not count",
            "readiness_of",
            only("since"),
            RELEASES,
        ),
    ),
    *of(
        "pods.plan",
        (
            "a batch of broken pods passes",
            "ready_needed",
            becomes("max tolerated", "wanted - tolerated"),
            LABELS,
        ),
    ),
    *of(
        "pods.labels",
        (
            "terminating pods take the number of their successors",
            "plan_labels",
            assigns("alive", "list(pods)"),
            LABELS,
        ),
    ),
    *of(
        "rollout.moving.config_release",
        (
            "a content that comes on the way back is released at once",
            "_may_be_released",
            without("stable_template"),
            CONTENT,
        ),
    ),
    *of(
        "config.content_record",
        (
            "a newer content is overwritten by the way back",
            "_way_back",
            without("of_neither"),
            CONTENT,
        ),
        (
            "a copy of another content is restored",
            "_obstacle",
            never("digest"),
            CONTENT_LOST,
        ),
        (
            "a content that was there before is not released again",
            "stamp_for",
            returns("seen.digest", "_SECOND_RELEASE_OF_CONTENT"),
            CONTENT,
        ),
        (
            "a content that is restored by its owner is a third revision",
            "stamp_for",
            returns("seen.digest", "stable"),
            CONTENT,
        ),
    ),
    *of(
        "rollout.moving.returning",
        (
            "a way back in batches goes on without its annotation",
            "still_returning",
            without("may_return_in_batches"),
            RETURNING,
        ),
        (
            "pods that never left are not told from those that came back",
            "mark_pods_that_stayed",
            always("returning admission_paused"),
            RETURNING,
        ),
    ),
    *of(
        "pods.doubling",
        (
            "a pod is named to go before its controller knows it as ready",
            "_known_ready",
            becomes("ready known_ready", "ready"),
            DOUBLING,
        ),
    ),
    *of(
        "rollout.styles.doubled",
        (
            "a doubled CloneSet is over while old pods are there",
            "DoubledCloneSet.promoted",
            never("surplus"),
            DOUBLED,
        ),
    ),
)
