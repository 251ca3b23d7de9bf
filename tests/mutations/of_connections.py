"""Deliberate defects of the API client, of caches, Leases and queues."""

from tests.mutations.mutation import Mutation, named

OF_CONNECTIONS: tuple[Mutation, ...] = (
    *named(
        "controller.kube.ledger",
        (
            "any version of an object counts as ours",
            "            if not wait.gone and wait.version == version:\n",
            "            if not wait.gone:\n",
            "unit/kube/test_ledger.py::test_another_version_proves_nothing",
        ),
        (
            "a write is waited for without an end",
            "if wait.deadline <= now]:",
            "if wait.deadline < 0]:",
            "unit/kube/test_ledger.py::test_patience_ends_the_wait",
        ),
    ),
    *named(
        "controller.kube.store",
        (
            "an object that was made again is heard as a change",
            "old.metadata.uid != new.metadata.uid\n            for",
            "old.metadata.uid == new.metadata.name\n            for",
            "unit/kube/test_store.py::test_indexes_and_listeners_always_agree_with_the_content",
        ),
        (
            "a removal takes a successor of the same name",
            "        if old is None or (uid and old.metadata.uid and old.metadata.uid != uid):\n",
            "        if old is None:\n",
            "unit/kube/test_store.py::test_a_removal_that_names_another_uid_is_ignored",
        ),
    ),
    *named(
        "controller.kube.reflector",
        (
            "a new list keeps objects that were deleted meanwhile",
            "        self.store.change(changed, gone)\n",
            "        self.store.change(changed, [])\n",
            "component/kube/test_reflector_faults.py::test_gone_as_a_status_lists_again_and_finds_missed_changes",
        ),
        (
            "a watch that expired is begun again from where it was",
            '                self._list_again("gone")\n',
            "",
            "component/kube/test_reflector_faults.py::test_gone_in_the_stream_lists_again_without_a_storm",
        ),
        (
            "a watch asks again sooner than the server wished",
            ", at_least=failure.retry_after)",
            ")",
            "component/kube/test_reflector_faults.py::test_retry_after_is_honoured_by_the_watch",
        ),
        (
            "the version of a bookmark is not kept",
            "            self._version = _identity(event.object)[1] or self._version\n            return\n",
            "            return\n",
            "component/kube/test_reflector_faults.py::test_bookmarks_keep_a_quiet_watch_alive_and_move_its_version",
        ),
    ),
    *named(
        "controller.kube.client",
        (
            "a failed test of a JSON patch is reported as an invalid object",
            "            if tested and refused.status == 422 and refused.message == _PATCH_REFUSED:\n",
            "            if not tested and refused.status == 422:\n",
            "component/kube/test_client.py::test_a_failed_test_of_a_json_patch_is_a_conflict",
        ),
        (
            "a deletion has no preconditions",
            '            options["preconditions"] = given\n',
            "            options |= {}\n",
            "component/kube/test_client.py::test_delete_carries_preconditions_only_where_given",
        ),
    ),
    *named(
        "controller.kube.api",
        (
            "writes pass a fence that is shut",
            '        if method != "GET" and self._fence is not None:\n',
            "        if not method and self._fence is not None:\n",
            "component/kube/test_client.py::test_behind_a_fence_that_is_shut_nothing_is_written_and_everything_is_read",
        ),
    ),
    *named(
        "controller.kube.sending",
        (
            "an object whose creation was not answered is created again",
            '    return bool(method != "POST" and content_type != JSON_PATCH)\n',
            "    return bool(content_type != JSON_PATCH)\n",
            "component/kube/test_client_faults.py::test_a_503_is_repeated_for_a_replace_but_not_for_a_create",
        ),
        (
            "a long Retry-After is waited for within the call",
            "    return asked if asked <= LONGEST_RETRY_AFTER else 0.0\n",
            "    return asked\n",
            "component/kube/test_client_faults.py::test_a_long_retry_after_is_the_callers_decision",
        ),
        (
            "a cancelled caller cancels the request that is under way",
            "        return await asyncio.shield(task)\n",
            "        return await task\n",
            "component/kube/test_client_faults.py::test_cancelled_requests_leak_no_connection_and_still_arrive",
        ),
    ),
    *named(
        "controller.kube.credentials",
        (
            "a token that was refused is not read again",
            "        if self._path and self._value == refused:\n            self._read()\n        elif",
            "        if",
            "component/kube/test_client_faults.py::test_a_rotated_token_file_is_read_again_at_once_and_no_call_is_lost",
        ),
    ),
    *named(
        "controller.kube.lease",
        (
            "a Lease is written over whatever version it has",
            '            "resourceVersion": record.version,\n',
            "",
            "component/kube/test_lease_store.py::test_an_update_names_the_version_that_was_judged_and_not_one_that_was_read_later",
        ),
        (
            "a renewal takes what others wrote off the Lease",
            "        metadata = dict(self._metadata) | {\n",
            "        metadata: dict[str, Any] = {\n",
            "component/kube/test_lease_store.py::test_an_update_carries_the_version_and_keeps_fields_of_others",
        ),
    ),
    *named(
        "controller.kube.events",
        (
            "an Event that cannot be written keeps the others waiting",
            "                if attempt == ATTEMPTS or isinstance(failure, HOPELESS):\n",
            "                if attempt == ATTEMPTS:\n",
            "component/kube/test_events.py::test_an_event_of_a_namespace_that_goes_keeps_no_other_waiting",
        ),
        (
            "each repetition of a note is written",
            "        return series.written_at is None or now - series.written_at >= SERIES_PERIOD\n",
            "        return series.written_at is None or now >= series.written_at\n",
            "component/kube/test_events.py::test_a_repeated_note_is_one_object_patched_at_most_every_five_minutes",
        ),
    ),
    *named(
        "controller.kube.event_gathering",
        (
            "a warning is held back like any note",
            '        if note.type == "Warning" or note.reason not in self._reasons:\n',
            "        if note.reason not in self._reasons:\n",
            "unit/kube/test_event_gathering.py::test_warnings_other_reasons_and_other_objects_are_not_held",
        ),
    ),
    *named(
        "controller.kube.held_watches",
        (
            "a watch goes with the first of its holders",
            "        if holders:\n            return\n",
            "",
            "component/kube/test_dynamic.py::test_the_last_user_of_a_kind_ends_its_watch_and_the_watch_of_crds",
        ),
    ),
    *named(
        "controller.kube.guard",
        (
            "anybody is let in while the API server is away",
            "            return Verdict.UNCHECKED\n",
            "            return Verdict.ALLOWED\n",
            "unit/kube/test_guard.py::test_nobody_is_let_in_while_the_api_server_is_away",
        ),
    ),
    *named(
        "controller.runtime.fence",
        (
            "a fence does not ask how late it is",
            "        if late > 0:\n",
            "        if late == 0:\n",
            "unit/runtime/test_fence.py::test_writes_pass_until_the_instant_that_was_given_and_not_after_it",
        ),
        (
            "a fence that was never opened lets writes through",
            "        if not self._open:\n",
            "        if self._until < 0:\n",
            "unit/runtime/test_fence.py::test_a_process_that_never_led_may_not_write",
        ),
    ),
    *named(
        "controller.runtime.leader",
        (
            "a renewal counts from its answer",
            "                renewed = started\n                self._fence.open(counted + self._timing.renew_deadline)\n",
            (
                "                renewed = started\n"
                "                self._fence.open(self._fence.seconds() + self._timing.renew_deadline)\n"
            ),
            "component/runtime/test_leader.py::test_a_renewal_counts_from_the_time_at_which_it_was_sent",
        ),
        (
            "a Lease of another holder is free before its time",
            "        return now - self._seen_at > max(seen.duration, self._timing.duration)\n",
            "        return now - self._seen_at > self._timing.retry_period\n",
            "component/runtime/test_leader.py::test_a_second_candidate_waits_for_the_whole_lease_of_a_dead_leader",
        ),
        (
            "a leader that lost its Lease gives it back to nobody",
            "            if not lost and not self._shared:\n",
            "            if not self._shared:\n",
            "component/runtime/test_leader.py::test_a_request_that_hangs_does_not_outlast_the_renew_deadline",
        ),
        (
            "a candidate that is stopped while it takes the Lease keeps it",
            "            if self._may_hold and not self._shared:\n                await self._release()\n",
            "",
            "component/runtime/test_leader_stopping.py::test_a_candidate_that_is_stopped_while_it_takes_the_lease_leaves_it_free",
        ),
        (
            "a Lease is given back while work is in flight",
            "            await cancelled(leading, within=self._timing.duration if lost else None)\n",
            "            await self._release()\n            await cancelled(leading)\n",
            "component/runtime/test_leader.py::test_a_graceful_stop_hands_over_within_two_periods_and_never_overlaps",
        ),
    ),
    *named(
        "controller.kube.dynamic",
        (
            "an object that is nested too deeply counts as missing",
            " not found.problem else _unreadable(kind, found)\n",
            " not found.problem else None\n",
            "component/kube/test_dynamic.py::test_an_object_that_is_nested_too_deeply_is_unknown_and_hides_no_other",
        ),
    ),
    *named(
        "controller.kube.errors",
        (
            "a server that asks for a day stops all writes of a day",
            "    return min(asked, LONGEST_WAIT)\n",
            "    return asked\n",
            "unit/kube/test_errors.py::test_a_server_is_left_alone_for_as_long_as_it_asks_but_not_for_a_day",
        ),
    ),
    *named(
        "controller.runtime.shards",
        (
            "a write does not need the Lease of its shard",
            "        if namespace:\n            self._fences[",
            "        if not namespace:\n            self._fences[",
            "component/runtime/test_shards.py::test_no_namespace_ever_has_two_writers",
        ),
        (
            "a shard is given back before its passes have ended",
            "            await self._ended(mine)\n",
            "",
            "component/runtime/test_shards.py::test_a_shard_is_handed_over_after_its_passes_have_ended",
        ),
    ),
    *named(
        "controller.runtime.workqueue",
        (
            "a key is worked on twice at once",
            "        if key in self._running:\n            self._again.add(key)\n        elif",
            "        if",
            "unit/runtime/test_workqueue.py::test_every_key_gets_its_turn_once_in_time_and_never_twice_at_once",
        ),
        (
            "a key that fails is tried again as soon each time",
            "        self._failures[key] = failures + 1\n",
            "        self._failures[key] = 0\n",
            "unit/runtime/test_workqueue.py::test_retries_grow_to_the_cap_and_start_again_after_success",
        ),
    ),
)
