"""Deliberate defects in moving pods, in counting pods, and in the configuration that they read."""

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
            "unavailable if surge or unavailable else min(1, replicas)",
            "unavailable",
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.moving.blue_green",
        (
            "the old version stays smaller than the workload after scaling",
            "            size = context.replicas\n",
            "            size = stable.spec.replicas\n",
            "rollout/test_blue_green.py",
        ),
    ),
    *of(
        "rollout.autoscalers",
        (
            "two writers fight over an autoscaler",
            "    if until > context.now:\n",
            "    if until is None:\n",
            AUTOSCALERS,
        ),
    ),
    *of(
        "rollout.replanning",
        (
            "a lowered step begins a larger one",
            "if context.batch(index) == target), fewer)\n",
            "if context.batch(index) >= target), fewer)\n",
            JUMP,
        ),
    ),
    *of(
        "rollout.moving.paced_deployment",
        (
            "a rollback without room waits for a surge",
            "    if not _is_without_room(context):\n        return ()\n",
            "    if True:\n        return ()\n",
            STABLE_CAPACITY,
        ),
        (
            "the old share goes without a margin",
            "        due = routing.grace_period_end(context, status)\n",
            "        due = None\n",
        ),
        (
            "the share of abandoned pods is room for new ones",
            "    return Stop(status=status) if wanted < context.replicas else None\n",
            "    return Stop(status=status) if wanted < 0 else None\n",
            BEHIND,
        ),
        (
            "the admission pause is not ended",
            'admission_pause=context.meta.annotations[names.ADMISSION_PAUSE] if ends_pause else "",',
            'admission_pause="",',
        ),
    ),
    *of(
        "rollout.moving.abandoned",
        (
            "abandoned pods stay",
            "    if left:\n",
            "    if left and not context.workload:\n",
            DISTURBANCES,
        ),
        (
            "abandoned pods go before stable ones are ready",
            "    there_are_enough = not needed and counted.ready >= enough\n",
            "    there_are_enough = context.replicas > 0\n",
            ABANDONED_PODS,
        ),
        (
            "abandoned pods are waited for without an end",
            "or due <= context.now or (left",
            "or due < context.now - timedelta(days=1) or (left",
            ABANDONED_PODS,
        ),
    ),
    *of(
        "rollout.moving.abandoned_pods",
        (
            "all abandoned pods of a set go at once",
            "    spare = ready.ready - (context.replicas - max(1, most_unavailable_pods(context)))\n",
            "    spare = ready.ready\n",
            ABANDONED_IN_SETS,
        ),
        (
            "pods are exchanged for pods that cannot start",
            "current == stable and starts\n",
            "current == stable\n",
            ABANDONED_IN_SETS,
        ),
    ),
    *of(
        "rollout.moving.from_zero",
        (
            "ReplicaSets that returned from zero are emptied before stable pods are ready",
            "        if counted.ready < counted.pods or not counted.pods:\n",
            "        if not counted.pods:\n",
            ABANDONED,
        ),
    ),
    *of(
        "rollout.moving.deployments",
        (
            "a deleted Rollout leaves its label behind",
            "    if drop_label and (context",
            "    if drop_label and keep_mark and (context",
            DISTURBANCES,
        ),
        (
            "an owner's pause is overrun",
            "    if not paused_by_its_owner(context.deployment):\n",
            "    if context.replicas >= 0:\n",
            DISTURBANCES,
        ),
        (
            "a Deployment controller that lags behind is not waited for",
            "    return None if context.deployment.observed else Stop(status=status)\n",
            "    return None\n",
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.moving.extra_deployment",
        (
            "the extra Deployment shrinks with the workload",
            "deployment.spec.replicas < context.batch(index)",
            "deployment.spec.replicas != context.batch(index)",
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.release_context",
        (
            "a step that finds no old pod is pinned to nothing",
            "        return self.leaves_none(index) or not self.old_revision_runs\n",
            "        return self.leaves_none(index)\n",
            JUMP,
        ),
    ),
    *of(
        "pods.deployment",
        (
            "maxUnavailable is written as a count",
            'WrittenLimits(f"{100 * surge // replicas}%", f"{percent}%")',
            'WrittenLimits(f"{100 * surge // replicas}%", rolling_limits.unavailable)',
            ROLLING_LIMITS,
        ),
    ),
    *of(
        "pods.pacing",
        (
            "old pods go before new ones are ready",
            "    if give_back and current.surge > 0 and ready >= current.new_pods:\n",
            "    if give_back and current.surge > 0:\n",
            ROLLING_LIMITS,
        ),
        (
            "the owner's maxSurge is exceeded",
            "    surge = min(limits.surge, wanted - current.unavailable)\n",
            "    surge = wanted - current.unavailable\n",
            ROLLING_LIMITS,
        ),
    ),
    *of(
        "pods.readiness",
        (
            "the owner's minReadySeconds does not count",
            "        due = later(since, of_seconds(min_ready_seconds))\n",
            "        due = since\n",
            RELEASES,
        ),
    ),
    *of(
        "pods.plan",
        (
            "a batch of broken pods passes",
            "    return max(1, wanted - tolerated)\n",
            "    return wanted - tolerated\n",
            LABELS,
        ),
    ),
    *of(
        "pods.labels",
        (
            "terminating pods take the number of their successors",
            "    alive = [pod for pod in pods if not pod.metadata.deleting]\n",
            "    alive = list(pods)\n",
            LABELS,
        ),
    ),
    *of(
        "rollout.config_release",
        (
            "a content that comes on the way back is released at once",
            "            context.template_hash != ours.stable_template and context.meta.uid == ours.workload_uid\n",
            "            context.meta.uid == ours.workload_uid\n",
            CONTENT,
        ),
    ),
    *of(
        "config.record",
        (
            "a newer content is overwritten by the way back",
            "    if agrees(stable, seen) or of_neither:\n",
            "    if agrees(stable, seen):\n",
            CONTENT,
        ),
        (
            "a copy of another content is restored",
            "        if kept.digest != was:\n",
            "        if False:\n",
            CONTENT_LOST,
        ),
        (
            "a content that was there before is not released again",
            "seen.digest if seen.digest != seen.stamp else seen.digest + _SECOND_RELEASE_OF_CONTENT\n",
            "seen.digest\n",
            CONTENT,
        ),
        (
            "a content that is restored by its owner is a third revision",
            "        return stable.stamp\n",
            "        return seen.digest\n",
            CONTENT,
        ),
    ),
    *of(
        "rollout.returning",
        (
            "a way back in batches goes on without its annotation",
            "    return moonshift_status(status).returning and may_return_in_batches(context)\n",
            "    return moonshift_status(status).returning\n",
            RETURNING,
        ),
        (
            "pods that never left are not told from those that came back",
            "    if not (context.returning and context.admission_paused):\n",
            "    if context.replicas >= 0:\n",
            RETURNING,
        ),
    ),
    *of(
        "pods.doubling",
        (
            "a pod is named to go before its controller knows it as ready",
            "    if len(ready) <= present.known_ready:\n",
            "    if ready:\n",
            DOUBLING,
        ),
    ),
    *of(
        "rollout.moving.doubled",
        (
            "a doubled CloneSet is over while old pods are there",
            "        if surplus or services.stable_services_lead_to_leaving_pods(context):\n",
            "        if context.replicas < 0:\n",
            DOUBLED,
        ),
    ),
)
