"""Deliberate defects of the rooms that write objects: effects, gateways, and the passes that order them."""

from tests.mutations.changes import (
    always,
    becomes,
    before,
    compares,
    does,
    in_condition,
    negated,
    never,
    removed,
    returns,
    within,
    without,
)
from tests.mutations.mutation import Mutation, named

OF_EFFECTS: tuple[Mutation, ...] = (
    *named(
        "controller.effects.services",
        (
            "a Service is pinned over whatever version it has by now",
            "pin",
            without("resourceVersion"),
            "component/effects/test_services.py::test_a_pin_is_not_written_over_a_service_that_changed_since",
        ),
        (
            "a canary Service of somebody else is turned to the new revision",
            "_update_canary",
            never("made_for"),
            "component/effects/test_services.py::test_a_namesake_of_the_canary_service_is_left_and_named",
        ),
    ),
    *named(
        "controller.effects.shown_rollout",
        (
            "a script of the installation sees objects of any kind",
            "may_be_shown",
            returns("True"),
            "component/effects/test_asking_scripts.py::test_a_script_of_the_installation_sees_no_other_kind",
        ),
        (
            "a script of the installation sees the whole Rollout",
            "shown_of",
            returns("rollout"),
            "component/effects/test_asking_scripts.py::test_a_script_of_the_installation_sees_the_state_of_a_rollout_and_nothing_beside_it",
        ),
    ),
    *named(
        "controller.effects.workloads",
        (
            "a set is moved by whoever comes late",
            "move",
            without("generation_is"),
            "component/effects/test_moved_workloads.py::test_a_late_move_of_a_set_changes_nothing",
        ),
    ),
    *named(
        "controller.effects.freezing",
        (
            "a workload is held again by whoever comes late",
            "freeze",
            without("generation_is"),
            "component/effects/test_freezing.py::test_a_late_write_changes_nothing",
        ),
    ),
    *named(
        "controller.effects.writes",
        (
            "a write is not waited for",
            "Writes._remember",
            removed("wrote"),
            "component/effects/test_writes.py::test_every_write_is_waited_for_in_the_version_that_it_made",
        ),
        (
            "a deletion takes whatever has the name by now",
            "Writes.delete",
            within("propagation _kube", without("uid")),
            "component/effects/test_writes.py::test_a_deletion_takes_the_object_that_was_seen_and_no_namesake",
        ),
    ),
    *named(
        "controller.effects.ownership",
        (
            "marks go although the spec was written in between",
            "take_off",
            without("_spec"),
            "component/effects/gateways/test_adapters.py::test_marks_stay_on_an_object_whose_spec_was_written_in_between",
        ),
    ),
    *named(
        "controller.effects.apply",
        (
            "a missing right ends the pass",
            "Effects.apply",
            becomes("WRITE_REFUSED", "WRITE_REFUSED[1:]"),
            "component/effects/test_refused_rights.py::test_a_write_that_is_forbidden_refuses_its_action_and_not_the_pass",
        ),
    ),
    *named(
        "controller.effects.configs",
        (
            "a ConfigMap is put back over whatever version it has by now",
            "_contents",
            without("op test resource_version"),
            "component/effects/test_configs.py::test_a_change_in_between_is_never_overwritten",
        ),
        (
            "an object that has the name of a copy is written",
            "keep",
            never("ROLLOUT_UID"),
            "component/effects/test_configs.py::test_an_object_that_only_has_a_copys_name_is_kept_and_named",
        ),
    ),
    *named(
        "controller.effects.gateways.rehearsing",
        (
            "an answer that depends on the missing canary Service refuses the release",
            "_is_no_answer",
            negated("_DENIED words"),
            "component/effects/gateways/test_rehearsing.py::test_a_dry_run_that_cannot_answer_stops_no_release",
        ),
    ),
    *named(
        "controller.effects.gateways.changes",
        (
            "a subset that stays the same is waited for at every step",
            "Change._said",
            never("says_anew"),
            "component/effects/gateways/test_settling.py::test_a_step_that_changes_no_subset_is_written_in_one_pass",
        ),
    ),
    *named(
        "controller.effects.gateways.settling",
        (
            "a plan that changes during the wait ends it",
            "Settling.delays",
            in_condition("written", without("seconds")),
            "component/effects/gateways/test_settling.py::test_a_plan_that_changes_during_the_wait_does_not_end_it",
        ),
    ),
    *named(
        "controller.effects.gateways.routes",
        (
            "objects are written before those that they point at",
            "GatewayRoutes._lead",
            becomes("sorted", "foreseen.changes"),
            "component/effects/gateways/test_ensure.py::test_objects_are_written_after_their_references_in_any_order_of_the_list",
        ),
        (
            "a route names a subset in the pass that wrote the subset",
            "GatewayRoutes._lead",
            removed("after"),
            "component/effects/gateways/test_settling.py::test_a_subset_is_written_in_one_pass_and_named_in_a_later_one",
        ),
        (
            "an object is named in the pass that made it",
            "GatewayRoutes._write",
            negated("says_anew"),
            "component/effects/gateways/test_settling.py::test_an_object_is_made_in_one_pass_and_named_by_the_one_beside_it_in_a_later_one",
        ),
        (
            "a restore goes on below an object that could not be restored",
            "GatewayRoutes.restore",
            never("Done"),
            "component/effects/gateways/test_restore.py::test_a_restore_that_was_cut_off_before_the_marks_went_goes_on",
        ),
        (
            "an object leads to companion objects that do not exist yet",
            "GatewayRoutes._write",
            before("companions make", "await self._write_object(change, plan)"),
            "component/effects/gateways/test_companions.py::test_the_canary_ingress_is_made_followed_and_removed",
        ),
        (
            "our marks go before the original is back",
            "GatewayRoutes._restore_content",
            before(
                "_with_original stored",
                "await self._unmark(target, namespace, encode(object_state.live))",
            ),
            "component/effects/gateways/test_restore.py::test_a_restore_that_was_cut_off_before_the_marks_went_goes_on",
        ),
    ),
    *named(
        "controller.effects.gateways.script_answers",
        (
            "a script that answers differently each time is believed",
            "Answers._run",
            never("first second"),
            "component/effects/gateways/test_ensure.py::test_a_script_that_answers_differently_each_time_is_refused",
        ),
    ),
    *named(
        "controller.effects.gateways.script_accounts",
        (
            "a script writes what its account may not",
            "Accounts._refused",
            returns("None", "account_forbidden"),
            "component/effects/gateways/test_own_scripts.py::test_without_a_right_nothing_is_shown_to_the_script_and_nothing_is_written",
        ),
    ),
    *named(
        "controller.effects.gateways.companions",
        (
            "a namesake that is being deleted counts as made",
            "Companions.make",
            never("leaving"),
            "component/effects/gateways/test_companions.py::test_a_namesake_on_its_way_out_is_waited_for_with_a_reason",
        ),
        (
            "a companion object that somebody changed stays changed",
            "Companions.make",
            without("whole"),
            "component/effects/gateways/test_companions.py::test_a_changed_or_deleted_companion_object_comes_back",
        ),
    ),
    *named(
        "controller.effects.gateways.kube_objects",
        (
            "a write of a route is not told to the ledger",
            "KubeGatewayObjects.replace",
            removed("_record_write"),
            "component/effects/gateways/test_adapters.py::test_every_write_is_reported_to_the_ledger",
        ),
    ),
    *named(
        "controller.reconcilers.rollout",
        (
            "a pass does not wait until the caches show its writes",
            "RolloutReconciler.reconcile",
            compares("behind", "<"),
            "component/reconcilers/test_rollout_passes.py::test_a_pass_waits_until_the_caches_show_its_writes",
        ),
        (
            "the status is written before the actions",
            "RolloutReconciler.reconcile",
            before(
                "carry_out",
                "await self._write_status(seen.rollout, effects.version, decision, writes)",
            ),
            "component/reconcilers/test_rollout_passes.py::test_a_missing_right_costs_one_status_write_however_often_it_is_met",
        ),
    ),
    *named(
        "controller.reconcilers.carrying_out",
        (
            "a held action makes a pass forget its next look",
            "carry_out",
            never("wake_at"),
            "component/reconcilers/test_routing_passes.py::test_a_route_that_cannot_be_written_now_does_not_make_a_pass_forget_its_next_look",
        ),
        (
            "actions go on after one that is not done yet",
            "carry_out",
            does("wake_after after", "continue"),
            "component/reconcilers/test_rollout_passes.py::test_actions_are_carried_out_up_to_the_first_that_is_not_done",
        ),
        (
            "actions go on after one that was refused",
            "carry_out",
            never("undone"),
            "component/reconcilers/test_rollout_passes.py::test_actions_are_carried_out_up_to_the_first_that_is_not_done",
        ),
    ),
    *named(
        "controller.reconcilers.wiring",
        (
            "a Deployment that loses the mark of a Rollout does not wake the Rollout",
            "Wiring._deployment_changed",
            within("view old", without("old")),
            "component/reconcilers/test_wiring.py::test_a_deployment_that_loses_the_mark_of_its_rollout_wakes_it_once_more",
        ),
        (
            "another script wakes nobody that it stopped",
            "Wiring.scripts_changed",
            becomes("True", "'False'"),
            "component/reconcilers/test_wiring.py::test_another_script_wakes_rollouts_that_were_stalled_and_all_traffic_routings",
        ),
    ),
    *named(
        "controller.reconcilers.account_rights",
        (
            "a right that was denied a moment ago is asked for by every pass",
            "AccountRights.review",
            removed("_monotonic"),
            "component/reconcilers/test_account_rights.py::test_a_refusal_is_cached_for_a_moment",
        ),
    ),
    *named(
        "controller.reconcilers.sources",
        (
            "passes begin before the Rollouts are known",
            "_is_settled",
            compares("INDISPENSABLE", "not in"),
            "component/reconcilers/test_sources.py::test_passes_wait_for_rollouts_and_scripts_and_for_a_word_about_every_other_cache",
        ),
    ),
    *named(
        "controller.effects.kept_revisions",
        (
            "a template that was exchanged in what a release keeps is used",
            "read",
            without("template_hash"),
            "component/effects/test_kept_revisions.py::test_another_template_or_owner_is_not_read",
        ),
        (
            "what another Rollout keeps is used",
            "read",
            without("controller_uid"),
            "component/effects/test_kept_revisions.py::test_another_template_or_owner_is_not_read",
        ),
    ),
    *named(
        "controller.domain.rollout.trouble.kept",
        (
            "a ReplicaSet counts as stable by its label alone",
            "stable_template_in",
            becomes("hashed stable_template", "replica_set.revision == ours.stable_revision"),
            "unit/domain/rollout/trouble/test_kept.py::test_a_replica_set_whose_template_was_changed_is_no_way_back",
        ),
    ),
    *named(
        "controller.domain.rollout.trouble.rebuilding",
        (
            "a stable ReplicaSet that somebody deleted stays away",
            "_is_missed",
            compares("stable_replica_set", "is"),
            "unit/domain/rollout/trouble/test_rebuilding.py::test_stable_pods_come_back_and_the_release_begins_again_at_step_1",
        ),
    ),
    *named(
        "controller.domain.rollout.styles.older_pods",
        (
            "pods of an older revision send a release of canary style back to step 1",
            "only_older_pods_are_in_the_way",
            negated("was_rebuilt"),
            "unit/domain/rollout/trouble/test_rebuilding.py::test_pods_of_an_older_revision_give_their_place_to_stable_ones_and_the_step_stays",
        ),
    ),
    *named(
        "controller.effects.rehearsing",
        (
            "what a dry run of our own objects refuses is taken for accepted",
            "_each",
            negated("NO_DRY_RUN"),
            "unit/domain/rollout/routes/test_rehearsing.py::test_a_refused_object_stalls_the_release_before_it_changes_anything",
        ),
    ),
    *named(
        "controller.reconcilers.retries",
        (
            "a refused action is tried again as soon each time",
            "RefusalWaits.next",
            always("obstacle"),
            "component/reconcilers/test_rollout_passes.py::test_a_repeated_refusal_is_retried_later_each_time_and_never_after_ten_seconds",
        ),
    ),
)
