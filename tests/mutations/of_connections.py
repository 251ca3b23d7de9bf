"""Deliberate defects of the API client, of caches, Leases and queues."""

from tests.mutations.changes import (
    always,
    assigns,
    becomes,
    before,
    compares,
    condition,
    in_condition,
    negated,
    never,
    only,
    removed,
    within,
    without,
)
from tests.mutations.mutation import Mutation, named

OF_CONNECTIONS: tuple[Mutation, ...] = (
    *named(
        "controller.kube.ledger",
        (
            "any version of an object counts as ours",
            "WriteLedger._observed",
            without("wait version"),
            "unit/kube/test_ledger.py::test_another_version_proves_nothing",
        ),
        (
            "a write is waited for without an end",
            "WriteLedger.pending",
            never("deadline"),
            "unit/kube/test_ledger.py::test_patience_ends_the_wait",
        ),
    ),
    *named(
        "controller.kube.store",
        (
            "an object that was made again is heard as a change",
            "Store._notify",
            assigns("reborn", "False"),
            "unit/kube/test_store.py::test_indexes_and_listeners_always_agree_with_the_content",
        ),
        (
            "a removal takes a successor of the same name",
            "Store.remove",
            condition("old uid", "old is None"),
            "unit/kube/test_store.py::test_a_removal_that_names_another_uid_is_ignored",
        ),
    ),
    *named(
        "controller.kube.reflector",
        (
            "a new list keeps objects that were deleted meanwhile",
            "Reflector._repair",
            within("change", becomes("gone", "[]")),
            "component/kube/test_reflector_faults.py::test_gone_as_a_status_lists_again_and_finds_missed_changes",
        ),
        (
            "a watch that expired is begun again from where it was",
            "Reflector._recover",
            removed("_list_again gone"),
            "component/kube/test_reflector_faults.py::test_gone_in_the_stream_lists_again_without_a_storm",
        ),
        (
            "a watch asks again sooner than the server wished",
            "Reflector._recover",
            without("at_least"),
            "component/kube/test_reflector_faults.py::test_retry_after_is_honoured_by_the_watch",
        ),
        (
            "the version of a bookmark is not kept",
            "Reflector._take_line",
            removed("_version"),
            "component/kube/test_reflector_faults.py::test_bookmarks_keep_a_quiet_watch_alive_and_move_its_version",
        ),
    ),
    *named(
        "controller.kube.client",
        (
            "a failed test of a JSON patch is reported as an invalid object",
            "KubeClient.json_patch",
            condition("_PATCH_REFUSED", "not tested and refused.status == 422"),
            "component/kube/test_client.py::test_a_failed_test_of_a_json_patch_is_a_conflict",
        ),
        (
            "a deletion has no preconditions",
            "KubeClient.delete",
            removed("preconditions"),
            "component/kube/test_client.py::test_delete_carries_preconditions_only_where_given",
        ),
    ),
    *named(
        "controller.kube.api",
        (
            "writes pass a fence that is shut",
            "ControllerApi.call_api",
            never("_fence"),
            "component/kube/test_client.py::test_behind_a_fence_that_is_shut_nothing_is_written_and_everything_is_read",
        ),
    ),
    *named(
        "controller.kube.sending",
        (
            "an object whose creation was not answered is created again",
            "_repeatable",
            without("POST"),
            "component/kube/test_client_faults.py::test_a_503_is_repeated_for_a_replace_but_not_for_a_create",
        ),
        (
            "a long Retry-After is waited for within the call",
            "_pause_before_retry",
            always("LONGEST_RETRY_AFTER"),
            "component/kube/test_client_faults.py::test_a_long_retry_after_is_the_callers_decision",
        ),
        (
            "a cancelled caller cancels the request that is under way",
            "Sending._send",
            becomes("shield", "task"),
            "component/kube/test_client_faults.py::test_cancelled_requests_leak_no_connection_and_still_arrive",
        ),
    ),
    *named(
        "controller.kube.credentials",
        (
            "a token that was refused is not read again",
            "Token.after_refusal",
            never("_path"),
            "component/kube/test_client_faults.py::test_a_rotated_token_file_is_read_again_at_once_and_no_call_is_lost",
        ),
    ),
    *named(
        "controller.kube.lease",
        (
            "a Lease is written over whatever version it has",
            "KubeLeaseStore.update",
            without("resourceVersion"),
            "component/kube/test_lease_store.py::test_an_update_names_the_version_that_was_judged_and_not_one_that_was_read_later",
        ),
        (
            "a renewal takes what others wrote off the Lease",
            "KubeLeaseStore.update",
            without("dict"),
            "component/kube/test_lease_store.py::test_an_update_carries_the_version_and_keeps_fields_of_others",
        ),
    ),
    *named(
        "controller.kube.events",
        (
            "an Event that cannot be written keeps the others waiting",
            "EventRecorder._write_patiently",
            without("isinstance HOPELESS"),
            "component/kube/test_events.py::test_an_event_of_a_namespace_that_goes_keeps_no_other_waiting",
        ),
        (
            "each repetition of a note is written",
            "EventRecorder._due",
            becomes("SERIES_PERIOD", "0"),
            "component/kube/test_events.py::test_a_repeated_note_is_one_object_patched_at_most_every_five_minutes",
        ),
    ),
    *named(
        "controller.kube.event_gathering",
        (
            "a warning is held back like any note",
            "Gathering.take",
            without("Warning"),
            "unit/kube/test_event_gathering.py::test_warnings_other_reasons_and_other_objects_are_not_held",
        ),
    ),
    *named(
        "controller.kube.held_watches",
        (
            "a watch goes with the first of its holders",
            "HeldWatches._let_go",
            never("holders"),
            "component/kube/test_dynamic.py::test_the_last_user_of_a_kind_ends_its_watch_and_the_watch_of_crds",
        ),
    ),
    *named(
        "controller.kube.guard",
        (
            "anybody is let in while the API server is away",
            "Guard._asked",
            becomes("UNCHECKED", "Verdict.ALLOWED"),
            "unit/kube/test_guard.py::test_nobody_is_let_in_while_the_api_server_is_away",
        ),
    ),
    *named(
        "controller.runtime.fence",
        (
            "a fence does not ask how late it is",
            "Fence.check",
            compares("late", "=="),
            "unit/runtime/test_fence.py::test_writes_pass_until_the_instant_that_was_given_and_not_after_it",
        ),
        (
            "a fence that was never opened lets writes through",
            "Fence.check",
            never("_open"),
            "unit/runtime/test_fence.py::test_a_process_that_never_led_may_not_write",
        ),
    ),
    *named(
        "controller.runtime.leader",
        (
            "a renewal counts from its answer",
            "Leader._keep",
            within("open", becomes("counted", "self._fence.seconds()")),
            "component/runtime/test_leader.py::test_a_renewal_counts_from_the_time_at_which_it_was_sent",
        ),
        (
            "a Lease of another holder is free before its time",
            "Leader._free",
            becomes("max", "self._timing.retry_period"),
            "component/runtime/test_leader.py::test_a_second_candidate_waits_for_the_whole_lease_of_a_dead_leader",
        ),
        (
            "a leader that lost its Lease gives it back to nobody",
            "Leader.run",
            in_condition("_shared", without("lost")),
            "component/runtime/test_leader.py::test_a_request_that_hangs_does_not_outlast_the_renew_deadline",
        ),
        (
            "a candidate that is stopped while it takes the Lease keeps it",
            "Leader._acquire_or_give_back",
            never("_may_hold _shared"),
            "component/runtime/test_leader_stopping.py::test_a_candidate_that_is_stopped_while_it_takes_the_lease_leaves_it_free",
        ),
        (
            "a Lease is given back while work is in flight",
            "Leader.run",
            before("cancelled leading", "await self._release()"),
            "component/runtime/test_leader.py::test_a_graceful_stop_hands_over_within_two_periods_and_never_overlaps",
        ),
    ),
    *named(
        "controller.kube.dynamic",
        (
            "an object that is nested too deeply counts as missing",
            "DynamicKinds.find",
            becomes("_unreadable", "None"),
            "component/kube/test_dynamic.py::test_an_object_that_is_nested_too_deeply_is_unknown_and_hides_no_other",
        ),
    ),
    *named(
        "controller.kube.errors",
        (
            "a server that asks for a day stops all writes of a day",
            "seconds_asked_for",
            only("asked"),
            "unit/kube/test_errors.py::test_a_server_is_left_alone_for_as_long_as_it_asks_but_not_for_a_day",
        ),
    ),
    *named(
        "controller.runtime.shards",
        (
            "a write does not need the Lease of its shard",
            "Shards.check",
            negated("namespace"),
            "component/runtime/test_shards.py::test_no_namespace_ever_has_two_writers",
        ),
        (
            "a shard is given back before its passes have ended",
            "Shards._serve",
            removed("_ended"),
            "component/runtime/test_shards.py::test_a_shard_is_handed_over_after_its_passes_have_ended",
        ),
    ),
    *named(
        "controller.runtime.workqueue",
        (
            "a key is worked on twice at once",
            "WorkQueue.add",
            never("_running"),
            "unit/runtime/test_workqueue.py::test_every_key_gets_its_turn_once_in_time_and_never_twice_at_once",
        ),
        (
            "a key that fails is tried again as soon each time",
            "WorkQueue.retry",
            assigns("self._failures[key]", "0"),
            "unit/runtime/test_workqueue.py::test_retries_grow_to_the_cap_and_start_again_after_success",
        ),
    ),
)
