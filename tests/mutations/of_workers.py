"""Deliberate defects of the way of a script: found, sent to the worker, run there."""

from tests.mutations.changes import (
    always,
    assigns,
    becomes,
    in_condition,
    never,
    removed,
    returns,
    within,
    without,
)
from tests.mutations.mutation import Mutation, named

OF_WORKERS: tuple[Mutation, ...] = (
    *named(
        "controller.scripts.worker_client",
        (
            "a call that was lost is repeated on the same connection",
            "ScriptClient._attempts",
            never("RESOURCE_EXHAUSTED"),
            "component/scripts/test_worker_client.py::test_a_call_that_was_lost_is_repeated_on_another_connection",
        ),
        (
            "a worker that knows no modules is believed",
            "ScriptClient.execute.send",
            never("modules"),
            "component/scripts/test_worker_client.py::test_a_worker_that_is_too_old_for_modules_is_no_worker",
        ),
    ),
    *named(
        "controller.scripts.lookup",
        (
            "the ConfigMap outranks a packaged script of a kind",
            "ScriptLibrary._resolve",
            never("first"),
            "component/effects/gateways/test_adapters.py::test_a_reference_to_a_script_of_its_namespace_gets_that_one_or_none",
        ),
        (
            "a namespace's script that is not there is replaced by a packaged one",
            "ScriptLibrary.resolve_own",
            returns(
                "self._own(own, key, kind, data) if data is not None"
                " else self.resolve_custom(group, kind, 'packaged', None)",
                "_own",
            ),
            "component/effects/gateways/test_adapters.py::test_a_reference_to_a_script_of_its_namespace_gets_that_one_or_none",
        ),
    ),
    *named(
        "luaworker.pool",
        (
            "a child is used twice for a script that nobody trusts",
            "Pool._key",
            in_condition("_usual", without("packaged")),
            "component/luaworker/test_recycled.py::test_an_untrusted_script_never_is",
        ),
        (
            "a child that failed serves again",
            "Pool._may_return",
            without("OK"),
            "component/luaworker/test_recycled.py::test_a_call_that_failed_ends_its_child",
        ),
        (
            "a script runs before the sandbox is proven",
            "Pool._renew",
            never("verdict"),
            "component/luaworker/test_selftest.py::test_a_pool_without_proof_runs_nothing",
        ),
    ),
    *named(
        "luaworker.recycled",
        (
            "a child serves two tenants",
            "Recycled.take",
            becomes("served key", "served.digest == key.digest"),
            "component/luaworker/test_recycled.py::test_a_child_never_serves_two_tenants_or_two_scripts",
        ),
        (
            "a child serves without an end",
            "Recycled.offer",
            without("_calls"),
            "component/luaworker/test_recycled.py::test_a_child_serves_no_more_than_its_number_of_calls",
        ),
    ),
    *named(
        "luaworker.selftest",
        (
            "a filter of system calls that is off is not noticed",
            "prove",
            never("problem"),
            "component/luaworker/test_selftest.py::test_the_self_test_finds_a_child_that_may_open_a_socket",
        ),
    ),
    *named(
        "luaworker.fairness",
        (
            "one tenant takes every place",
            "FairQueue._may_have_another",
            never("_per_tenant"),
            "unit/luaworker/test_fairness.py::test_a_tenant_never_has_more_than_its_part",
        ),
        (
            "tenants whose calls are heavy take every place",
            "FairQueue._may_have_another",
            always("_is_heavy tenant self"),
            "unit/luaworker/test_fairness.py::test_heavy_tenants_together_have_a_part_of_the_places_only",
        ),
        (
            "whoever came first is served, however many of one tenant came",
            "FairQueue._serve_next",
            becomes("move_to_end", "self._waiting.move_to_end(tenant, last=False)"),
            "unit/luaworker/test_fairness.py::test_tenants_take_turns",
        ),
    ),
    *named(
        "luaworker.child",
        (
            "a script has all the time on the clock",
            "_arm",
            becomes("wall_ms", "0"),
            "component/luaworker/test_selftest.py::test_the_self_test_finds_a_child_that_may_open_a_socket",
        ),
        (
            "a script has all the memory",
            "_work",
            becomes("memory_bytes", "0"),
            "component/luaworker/test_limits.py::test_memory_is_bounded",
        ),
        (
            "a script is run with no filter of system calls",
            "_serve_once",
            never("lock"),
            "component/luaworker/test_selftest.py::test_the_self_test_finds_a_child_that_may_open_a_socket",
        ),
        (
            "a child that serves again keeps the state of its last call",
            "_serve_again",
            removed("build"),
            "component/luaworker/test_recycled.py::test_a_packaged_script_is_served_again_by_the_same_child_in_a_fresh_state",
        ),
    ),
    *named(
        "luaworker.wire",
        (
            "a module of somebody else goes without its text",
            "_module_parts",
            without("ours"),
            "unit/luaworker/test_parts.py::test_modules_of_our_library_travel_without_their_texts_to_a_child_that_knows_them",
        ),
    ),
    *named(
        "luaworker.script_cache",
        (
            "a script that costs a process each time is run on and on",
            "Breaker.refusal",
            becomes("failures _FAILURES", "record.failures"),
            "component/luaworker/test_limits.py::test_a_script_that_keeps_failing_is_not_run_for_a_while",
        ),
    ),
    *named(
        "luaworker.tls",
        (
            "a client without a certificate is let in",
            "server_credentials",
            becomes("require_client_authentication", "False"),
            "component/luaworker/test_service.py::test_only_clients_of_the_same_authority_are_let_in",
        ),
        (
            "certificates that were replaced are not taken up",
            "server_credentials.fetch",
            assigns("current", "current or found"),
            "component/luaworker/test_tls.py::test_replaced_certificates_are_used_without_a_restart",
        ),
    ),
    *named(
        "luaworker.service",
        (
            "an object of any size is run",
            "_check_sizes",
            never("size"),
            "component/luaworker/test_deadlines.py::test_an_object_beyond_its_size_is_refused_by_name",
        ),
    ),
    *named(
        "luaworker.seccomp",
        (
            "a child may write to any descriptor",
            "assemble",
            within("write", becomes("_only_channel", "[_op(_RET, 0, 0, _ALLOW)]")),
            "unit/luaworker/test_seccomp.py::test_only_a_child_that_serves_again_may_set_timers",
        ),
    ),
)
