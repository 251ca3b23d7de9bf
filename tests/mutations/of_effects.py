"""Deliberate defects of the rooms that write objects: effects, gateways, and the passes that order them."""

from tests.mutations.mutation import Mutation, named

OF_EFFECTS: tuple[Mutation, ...] = (
    *named(
        "controller.effects.services",
        (
            "a Service is pinned over whatever version it has by now",
            '            "resourceVersion": action.resource_version,\n            "labels": {names.PINNED: "true"},\n',
            '            "labels": {names.PINNED: "true"},\n',
            "component/effects/test_services.py::test_a_pin_is_not_written_over_a_service_that_changed_since",
        ),
        (
            "a canary Service of somebody else is turned to the new revision",
            "    if not made_for(existing, action.rollout_uid):\n",
            "    if not existing.metadata.name:\n",
            "component/effects/test_services.py::test_a_namesake_of_the_canary_service_is_left_and_named",
        ),
    ),
    *named(
        "controller.effects.podsets",
        (
            "a set is moved by whoever comes late",
            "    operations = [generation_is(action.generation)]\n    if action.admission_pause:\n",
            "    operations: list[Operation] = []\n    if action.admission_pause:\n",
            "component/effects/test_podsets.py::test_a_late_move_of_a_set_changes_nothing",
        ),
    ),
    *named(
        "controller.effects.freezing",
        (
            "a workload is held again by whoever comes late",
            "    tested = [generation_is(action.generation), *map(plain, operations)]\n",
            "    tested = [*map(plain, operations)]\n",
            "component/effects/test_freezing.py::test_a_late_write_changes_nothing",
        ),
    ),
    *named(
        "controller.effects.writes",
        (
            "a write is not waited for",
            "        self._ledger.wrote(resource.name, meta.key, meta.resource_version)\n        return",
            "        return",
            "component/effects/test_writes.py::test_every_write_is_waited_for_in_the_version_that_it_made",
        ),
        (
            "a deletion takes whatever has the name by now",
            "uid=uid, propagation=propagation\n",
            "uid=None, propagation=propagation\n",
            "component/effects/test_writes.py::test_a_deletion_takes_the_object_that_was_seen_and_no_namesake",
        ),
    ),
    *named(
        "controller.effects.ownership",
        (
            "marks go although the spec was written in between",
            "            if attempt + 1 == ATTEMPTS or _spec(now) != _spec(stored):\n",
            "            if attempt + 1 == ATTEMPTS:\n",
            "component/effects/gateways/test_adapters.py::test_marks_stay_on_an_object_whose_spec_was_written_in_between",
        ),
    ),
    *named(
        "controller.effects.apply",
        (
            "a missing right ends the pass",
            "        except WRITE_REFUSED as refused:\n            return of_refused(refused)",
            "        except WRITE_REFUSED[1:] as refused:\n            return of_refused(refused)",
            "component/effects/test_refused_rights.py::test_a_write_that_is_forbidden_refuses_its_action_and_not_the_pass",
        ),
    ),
    *named(
        "controller.effects.configs",
        (
            "a ConfigMap is put back over whatever version it has by now",
            '        {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version},\n',
            "",
            "component/effects/test_configs.py::test_a_change_in_between_is_never_overwritten",
        ),
        (
            "an object that has the name of a copy is written",
            "    if present.metadata.labels.get(names.ROLLOUT_UID) != action.rollout.uid:\n",
            "    if not present.metadata.labels:\n",
            "component/effects/test_configs.py::test_an_object_that_only_has_a_copys_name_is_kept_and_named",
        ),
    ),
    *named(
        "controller.effects.gateways.rehearsing",
        (
            "an answer that depends on the missing canary Service refuses the release",
            "    return _DENIED in words and any(",
            "    return _DENIED not in words and any(",
            "component/effects/gateways/test_rehearsing.py::test_a_dry_run_that_cannot_answer_stops_no_release",
        ),
    ),
    *named(
        "controller.effects.gateways.changes",
        (
            "a subset that stays the same is waited for at every step",
            "        if not self.says_anew:\n            return before\n",
            "",
            "component/effects/gateways/test_settling.py::test_a_step_that_changes_no_subset_is_written_in_one_pass",
        ),
    ),
    *named(
        "controller.effects.gateways.settling",
        (
            "a plan that changes during the wait ends it",
            "        if self.written or self.seconds:\n            return change.depth",
            "        if self.written:\n            return change.depth",
            "component/effects/gateways/test_settling.py::test_a_plan_that_changes_during_the_wait_does_not_end_it",
        ),
    ),
    *named(
        "controller.effects.gateways.routes",
        (
            "objects are written before those that they point at",
            "sorted(foreseen.changes, key=lambda change: -change.depth)",
            "foreseen.changes",
            "component/effects/gateways/test_ensure.py::test_objects_are_written_after_their_references_in_any_order_of_the_list",
        ),
        (
            "a route names a subset in the pass that wrote the subset",
            "            settling = settling.after(change)\n",
            "",
            "component/effects/gateways/test_settling.py::test_a_subset_is_written_in_one_pass_and_named_in_a_later_one",
        ),
        (
            "an object is named in the pass that made it",
            "        if absent and change.says_anew:\n",
            "        if absent and not change.says_anew:\n",
            "component/effects/gateways/test_settling.py::test_an_object_is_made_in_one_pass_and_named_by_the_one_beside_it_in_a_later_one",
        ),
        (
            "a restore goes on below an object that could not be restored",
            "            if failed := next((item for item in outcomes if not isinstance(item, Done)), None):\n",
            "            if failed := next((item for item in outcomes if item is None), None):\n",
            "component/effects/gateways/test_restore.py::test_a_restore_that_was_cut_off_before_the_marks_went_goes_on",
        ),
        (
            "an object leads to companion objects that do not exist yet",
            "        companions = await self._companions.make(change.objects, present, plan, reference)\n",
            (
                "        await self._write_object(change, plan)\n"
                "        companions = await self._companions.make(change.objects, present, plan, reference)\n"
            ),
            "component/effects/gateways/test_companions.py::test_the_canary_ingress_is_made_followed_and_removed",
        ),
        (
            "our marks go before the original is back",
            "        stored = await self._with_original(target, namespace, object_state)\n        match stored:\n",
            (
                "        await self._unmark(target, namespace, encode(object_state.live))\n"
                "        stored = await self._with_original(target, namespace, object_state)\n        match stored:\n"
            ),
            "component/effects/gateways/test_restore.py::test_a_restore_that_was_cut_off_before_the_marks_went_goes_on",
        ),
    ),
    *named(
        "controller.effects.gateways.answers",
        (
            "a script that answers differently each time is believed",
            "        if first != second:\n",
            "        if first is None:\n",
            "component/effects/gateways/test_ensure.py::test_a_script_that_answers_differently_each_time_is_refused",
        ),
    ),
    *named(
        "controller.effects.gateways.accounts",
        (
            "a script writes what its account may not",
            "        return refusals.account_forbidden(own, missing, about) if missing else None\n",
            "        return None\n",
            "component/effects/gateways/test_own_scripts.py::test_without_a_right_nothing_is_shown_to_the_script_and_nothing_is_written",
        ),
    ),
    *named(
        "controller.effects.gateways.companions",
        (
            "a namesake that is being deleted counts as made",
            "            if companion is not None and companion.leaving:\n",
            "            if companion is None and not manifest:\n",
            "component/effects/gateways/test_companions.py::test_a_namesake_on_its_way_out_is_waited_for_with_a_reason",
        ),
        (
            "a companion object that somebody changed stays changed",
            "                and companion.whole\n",
            "",
            "component/effects/gateways/test_companions.py::test_a_changed_or_deleted_companion_object_comes_back",
        ),
    ),
    *named(
        "controller.effects.gateways.kube_objects",
        (
            "a write of a route is not told to the ledger",
            "        self._record_write(resource, stored)\n        return stored\n",
            "        return stored\n",
            "component/effects/gateways/test_adapters.py::test_every_write_is_reported_to_the_ledger",
        ),
    ),
    *named(
        "controller.reconcilers.rollout",
        (
            "a pass does not wait until the caches show its writes",
            "        if behind > 0:\n",
            "        if behind < 0:\n",
            "component/reconcilers/test_rollout_passes.py::test_a_pass_waits_until_the_caches_show_its_writes",
        ),
        (
            "the status is written before the actions",
            "        decision, wake_after = await self._apply(seen, decision, effects, now)\n",
            (
                "        await self._write_status(seen.rollout, effects.version, decision, writes)\n"
                "        decision, wake_after = await self._apply(seen, decision, effects, now)\n"
            ),
            "component/reconcilers/test_rollout_passes.py::test_a_missing_right_costs_one_status_write_however_often_it_is_met",
        ),
        (
            "actions go on after one that is not done yet",
            "                    return decision, _earlier(wake_after, after)\n                case Refusal",
            "                    wake_after = _earlier(wake_after, after)\n                case Refusal",
            "component/reconcilers/test_rollout_passes.py::test_actions_are_carried_out_up_to_the_first_that_is_not_done",
        ),
        (
            "actions go on after one that was refused",
            "                    if not alone:\n",
            "                    if refusal is None:\n",
            "component/reconcilers/test_rollout_passes.py::test_actions_are_carried_out_up_to_the_first_that_is_not_done",
        ),
    ),
    *named(
        "controller.reconcilers.wiring",
        (
            "a Deployment that loses the mark of a Rollout does not wake the Rollout",
            "        for view in (old, new):\n            if view is not None:\n                for rollout",
            "        for view in (new,):\n            if view is not None:\n                for rollout",
            "component/reconcilers/test_wiring.py::test_a_deployment_that_loses_the_mark_of_its_rollout_wakes_it_once_more",
        ),
        (
            "another script wakes nobody that it stopped",
            '            if any(c.type == "Stalled" and c.status == "True" for c in rollout.status.conditions):\n',
            '            if any(c.type == "Stalled" and c.status == "False" for c in rollout.status.conditions):\n',
            "component/reconcilers/test_wiring.py::test_another_script_wakes_rollouts_that_were_stalled_and_all_traffic_routings",
        ),
    ),
    *named(
        "controller.reconcilers.account_rights",
        (
            "a right that was denied a moment ago is asked for by every pass",
            "            self._denied[right] = self._monotonic()\n",
            "            self._denied.pop(right, None)\n",
            "component/reconcilers/test_account_rights.py::test_a_refusal_is_cached_for_a_moment",
        ),
    ),
    *named(
        "controller.reconcilers.sources",
        (
            "passes begin before the Rollouts are known",
            "    if source.resource in INDISPENSABLE:\n",
            "    if source.resource not in INDISPENSABLE:\n",
            "component/reconcilers/test_sources.py::test_passes_wait_for_rollouts_and_scripts_and_for_a_word_about_every_other_cache",
        ),
    ),
    *named(
        "controller.effects.kept",
        (
            "a template that was exchanged in what a release keeps is used",
            "    if not facts.stable_template or template_hash(template) != facts.stable_template:\n",
            "    if not facts.stable_template:\n",
            "component/effects/test_kept.py::test_another_template_or_owner_is_not_read",
        ),
        (
            "what another Rollout keeps is used",
            "    if facts is None or found.metadata.controller_uid != rollout.uid:\n",
            "    if facts is None:\n",
            "component/effects/test_kept.py::test_another_template_or_owner_is_not_read",
        ),
    ),
    *named(
        "controller.domain.rollout.kept",
        (
            "a ReplicaSet counts as stable by its label alone",
            "        and (replica_set.revision, hashed) == (ours.stable_revision, ours.stable_template)\n",
            "        and replica_set.revision == ours.stable_revision\n",
            "unit/domain/rollout/test_kept.py::test_a_replica_set_whose_template_was_changed_is_no_way_back",
        ),
    ),
    *named(
        "controller.domain.rollout.moving.rebuilding",
        (
            "a stable ReplicaSet that somebody deleted stays away",
            "    if stable_replica_set(context, status) is not None:\n",
            "    if stable_replica_set(context, status) is None:\n",
            "unit/domain/rollout/test_rebuilding.py::test_stable_pods_come_back_and_the_release_begins_again_at_step_1",
        ),
    ),
    *named(
        "controller.domain.rollout.moving.older_pods",
        (
            "pods of an older revision send a release of canary style back to step 1",
            "    return bool(others) and are_older and was_rebuilt(stable)\n",
            "    return bool(others) and are_older and not was_rebuilt(stable)\n",
            "unit/domain/rollout/test_rebuilding.py::test_pods_of_an_older_revision_give_their_place_to_stable_ones_and_the_step_stays",
        ),
    ),
    *named(
        "controller.effects.rehearsing",
        (
            "what a dry run of our own objects refuses is taken for accepted",
            "            if NO_DRY_RUN not in refused.message:\n",
            "            if NO_DRY_RUN in refused.message:\n",
            "unit/domain/rollout/test_rehearsing.py::test_a_refused_object_stalls_the_release_before_it_changes_anything",
        ),
    ),
    *named(
        "controller.reconcilers.refusals",
        (
            "a refused action is tried again as soon each time",
            "        if wait is None or before != obstacle:\n",
            "        if wait is None or before:\n",
            "component/reconcilers/test_rollout_passes.py::test_a_repeated_refusal_is_retried_later_each_time_and_never_after_ten_seconds",
        ),
    ),
)
