"""Deliberate defects of a release's transitions: phases, steps, pauses, routes, ends."""

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
            "    if not taking:\n",
            "    if ours:\n",
        ),
        (
            "a revision that returned from zero without an approval is stable for the next release",
            "    if ours.goal != Goal.SUCCESS and undo_leads_to_stable(context, status):\n",
            "    if ours.goal == Goal.DELETING and undo_leads_to_stable(context, status):\n",
            ABANDONED,
        ),
        (
            "the objects that the plan names are not checked before the first move",
            (
                "    if problem is not None:\n        return Stop(status, problem=problem)\n"
                "    # Time spent waiting before"
            ),
            "    # Time spent waiting before",
        ),
    ),
    *of(
        "rollout.release",
        (
            "a pause outranks a rollback",
            "    if rolled_back(context, status):\n",
            "    if rolled_back(context, status) and not context.seen.rollout.spec.strategy.paused:\n",
        ),
        (
            "a rollback before the first look is a release",
            "    return back and not known_already\n",
            "    return back and not _expected(context, status)\n",
        ),
        (
            "a third revision is not noticed",
            "    return moonshift_status(status).goal == Goal.CONTINUOUS or not _expected(context, status)\n",
            "    return False\n",
        ),
        (
            "a third revision is not noticed in the end phase",
            "    if another_revision_came(context, status):\n",
            "    if goal != Goal.SUCCESS and another_revision_came(context, status):\n",
        ),
        (
            "a workload made again counts as the same",
            "    return bool(uid) and uid != context.meta.uid\n",
            "    return False\n",
        ),
        (
            "a workload of no replicas goes on through the steps",
            "    return context.replicas == 0\n",
            "    return False\n",
        ),
        (
            "an approval is used up while the spec is paused",
            "    if context.seen.rollout.spec.strategy.paused:\n",
            "    if context.seen.rollout.spec.strategy.paused and read_mailbox(context, status) is None:\n",
            APPROVALS,
        ),
        (
            "the revision that runs after zero replicas is taken for stable",
            "        and not context.returning\n        and not moonshift_status(status).stable_revision\n    ):\n",
            "        and not context.returning\n    ):\n",
            FROM_ZERO,
        ),
    ),
    *of(
        "rollout.pause",
        (
            "an approval is honoured in every state",
            "    if ours.state == StepState.STEP_PAUSED:\n        return True\n",
            "    return True\n",
        ),
        (
            "a repeated approval is honoured again",
            "    return due is not None and context.now < due and _pause_is_visible(context, status)\n",
            "    return False\n",
        ),
        (
            "an exact approval counts for any step",
            "ours.approval is not None and ours.approval.step == ours.step",
            "ours.approval is not None",
        ),
        (
            "an approval that is reset stays in the mailbox",
            "    return Continue(_mirror_restored(emptied), (note,))\n",
            "    return Continue(emptied, (note,))\n",
        ),
        (
            "a timed pause asks for no wake-up",
            "IN_ROLLING, text, context.now), wake_at=due)\n",
            "IN_ROLLING, text, context.now))\n",
        ),
        (
            "a last step of all replicas as a number goes on by itself",
            '        and context.step(index).replicas == "100%"\n',
            "        and context.batch(index) >= context.replicas\n",
            RELEASES,
        ),
    ),
    *of(
        "rollout.phases",
        (
            "a release acts before its position is written",
            "        return Stop(begun.status, notes=begun.notes)\n",
            "        return begun\n",
            DISTURBANCES,
        ),
        (
            "disabling is dropped half-way when it is taken back",
            "    if rollout.spec.disabled or status.phase == Phase.DISABLING:\n",
            "    if rollout.spec.disabled:\n",
            DISTURBANCES,
        ),
        (
            "a deleted Rollout goes at once",
            (
                "    if stop is not None:\n        return stop\n"
                "    if not moonshift_status(status).release:\n"
            ),
            "    if not moonshift_status(status).release:\n",
            DISTURBANCES,
        ),
        (
            "a problem is an Event each time it is looked at",
            '    if old is not None and (old.status, old.message) == ("True", problem.message):\n',
            "    if old is not None and old.status == problem.message:\n",
        ),
    ),
    *of(
        "conditions",
        (
            "a condition's transition time stands still",
            "    moved = old is None or old.status != value\n",
            "    moved = old is None\n",
            PHASES,
        ),
    ),
    *of(
        "rollout.stable_capacity",
        (
            "few stable pods take all traffic back",
            "    return led and ready < context.enough_for_all_traffic\n",
            "    return led and not ready\n",
            STABLE_CAPACITY,
        ),
        (
            "a shared route closes before stable pods are ready",
            "    led = context.routes_lead or shared_route_is_open(context)\n",
            "    led = context.routes_lead\n",
            SHARED_CAPACITY,
        ),
        (
            "routes leave abandoned pods before stable ones are ready",
            "    replaced = mechanism_of(context).replace_abandoned(context, status)\n",
            "    replaced = None\n",
            ABANDONED_PODS,
        ),
    ),
    *of(
        "rollout.finalising",
        (
            "success restores the routes before the workload is upgraded",
            "        (FinalisingStep.RESUME_WORKLOAD, _promote),\n        (FinalisingStep.RESUME_WORKLOAD, _old_pods_have_left),\n",
            "        *_ROUTES_RETURN,\n        (FinalisingStep.RESUME_WORKLOAD, _promote),\n",
        ),
        (
            "success upgrades the workload behind a pinned Service",
            (
                "        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin_and_wait_for_endpoints),\n"
                "        (FinalisingStep.RESUME_WORKLOAD, _promote),\n"
            ),
            (
                "        (FinalisingStep.RESUME_WORKLOAD, _promote),\n"
                "        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin_and_wait_for_endpoints),\n"
            ),
        ),
        (
            "a rollback un-pins before the rejected pods are gone",
            (
                "        (FinalisingStep.RESUME_WORKLOAD, _resume_workload),\n"
                "        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin),\n"
            ),
            (
                "        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin),\n"
                "        (FinalisingStep.RESUME_WORKLOAD, _resume_workload),\n"
            ),
            DISTURBANCES,
        ),
        (
            "a third revision behind a shared Service ignores the margin",
            ".replace_abandoned),\n        *_ROUTES_HAVE_LEFT,\n",
            ".replace_abandoned),\n        *_ROUTES_RETURN,\n",
            ROUTING,
        ),
        (
            "the canary Service goes with the routes",
            "    return _grace_period(context, status) or Stop(status=status, actions=actions)\n",
            "    return Stop(status=status, actions=actions)\n",
        ),
        (
            "a Rollout un-pins what another one pinned",
            "    actions = services.unpin(context) if moonshift_status(status).workload_uid else ()\n",
            "    actions = services.unpin(context)\n",
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.steps",
        (
            "pods are made before the scripts are heard",
            "        actions = (*routing.rehearsal(context, status, index), *rehearsed, *actions)\n",
            "        actions = (*rehearsed, *actions, *routing.rehearsal(context, status, index))\n",
            REHEARSAL,
        ),
        (
            "the stable Service is never pinned",
            "    pins = services.pin(context, status, index)\n",
            "    pins: tuple[Action, ...] = ()\n",
        ),
        (
            "traffic does not wait for ready pods",
            "    if not batches.batch_is_ready(context, index, counted):\n",
            "    if counted.pods < 0:\n",
        ),
        (
            "the old share goes before the route has moved",
            "give_back=not context.step(index).routes_traffic,\n",
            "give_back=True,\n",
        ),
        (
            "nothing is repaired while a step waits",
            "    kept = _kept(context, transition.status, index)\n",
            "    kept: tuple[Action, ...] = ()\n",
            DISTURBANCES,
        ),
        (
            "a step without traffic keeps the routes of the one before",
            "        if restored is not None:\n            return restored\n",
            "",
        ),
        (
            "a canary Deployment that vanished before its route is not made again",
            "    if regrown:\n",
            "    if regrown and index < 1:\n",
            DISTURBANCES,
        ),
    ),
    *of(
        "rollout.routing",
        (
            "the first route does not wait for the margin",
            "    return wait_by_choice(status, due) if due > context.now else None\n",
            "    return None\n",
            RELEASES,
        ),
        (
            "the first route does not wait for endpoints",
            "    if not new or any(\n        name not in since or not new <= context.ready_endpoints(name)",
            "    if any(\n        name not in since",
        ),
        (
            "endpoints count before they are there",
            "        if name not in since and new and new <= context.ready_endpoints(name):\n",
            "        if name not in since and new:\n",
        ),
        (
            "a gateway object that cannot match is still asked for matches",
            "        left_out=_left_out(context, step),\n",
            "",
            LEFT_OUT,
        ),
        (
            "touched routes are left as they are",
            "        or route.state.touched\n",
            "",
            DISTURBANCES,
        ),
        (
            "the instant of a route is forgotten",
            "    noted = with_moonshift_status(status, route_plan=plan, routed_at=context.now)\n",
            "    noted = with_moonshift_status(status, route_plan=plan)\n",
            RELEASES,
        ),
        (
            "an instant that was lost counts as long ago",
            "    lost = marks_partial_restore(plan) and known.routed_at is None\n",
            "    lost = False\n",
            RESTORING,
        ),
    ),
    *of(
        "rollout.services",
        (
            "a Service stays pinned though a step takes all pods",
            "        and routing.routes_from(context, index)\n        and not context.takes_all(index)\n",
            "        and routing.routes_from(context, index)\n",
            RELEASES,
        ),
        (
            "only a first step with traffic pins",
            "        and routing.routes_from(context, index)\n",
            "        and context.step(index).routes_traffic\n",
            RELEASES,
        ),
    ),
    *of(
        "rollout.restoring",
        (
            "the object behind a route is restored together with the route",
            "        if due is not None:\n",
            "        if due is not None and depth < 1:\n",
        ),
        (
            "a grace period is counted from the record of an earlier one",
            "    return () if routing.marks_partial_restore(known) else",
            "    return () if not known else",
        ),
    ),
    *of(
        "traffic.named_content",
        (
            "the wait for a subset counts from the subset before it",
            "if known is not None and known.content == content else",
            "if known is not None else",
        ),
        (
            "a subset is named at once after the pass that saw it",
            "    if known is None:\n        return 0.0\n",
            "    if known is None or known.since != now:\n        return 0.0\n",
        ),
    ),
    *of(
        "traffic.restoring.teardown_order",
        (
            "all is given back in one pass",
            "if (_depth(route) or 0) <= depth)",
            "if (_depth(route) or 0) >= 0)",
        ),
    ),
    *of(
        "trafficrouting.moving",
        (
            "the object behind a closed shared route is restored together with the route",
            "    if due > now:\n        return Move(",
            "    if due < now:\n        return Move(",
        ),
        (
            "an earlier descent is kept while a route moves",
            "        if known is not None:\n",
            "        if depth is not None and depth < 0:\n",
        ),
    ),
)
