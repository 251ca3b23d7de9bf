"""Deliberate defects of the way of a script: found, sent to the worker, run there."""

from tests.mutations.mutation import Mutation, named

OF_WORKERS: tuple[Mutation, ...] = (
    *named(
        "controller.scripts.client",
        (
            "a call that was lost is repeated on the same connection",
            "                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:\n                    self._replace(connection)\n",
            "",
            "component/scripts/test_client.py::test_a_call_that_was_lost_is_repeated_on_another_connection",
        ),
        (
            "a worker that knows no modules is believed",
            "            if response.modules != len(script.modules):\n",
            "            if response.modules < 0:\n",
            "component/scripts/test_client.py::test_a_worker_that_is_too_old_for_modules_is_no_worker",
        ),
    ),
    *named(
        "controller.scripts.lookup",
        (
            "the ConfigMap outranks a packaged script of a kind",
            '        found = (packaged or configured) if first == "packaged" else (configured or packaged)\n',
            "        found = configured or packaged\n",
            "component/effects/gateways/test_adapters.py::test_a_reference_to_a_script_of_its_namespace_gets_that_one_or_none",
        ),
        (
            "a namespace's script that is not there is replaced by a packaged one",
            "        if data is None:\n            return MissingScript(f",
            '        if data is None:\n            return self.resolve_custom(group, kind, "packaged", None)\n            return MissingScript(f',
            "component/effects/gateways/test_adapters.py::test_a_reference_to_a_script_of_its_namespace_gets_that_one_or_none",
        ),
    ),
    *named(
        "luaworker.pool",
        (
            "a child is used twice for a script that nobody trusts",
            "        if packaged and call.limits == self._usual:\n",
            "        if call.limits == self._usual:\n",
            "component/luaworker/test_recycled.py::test_an_untrusted_script_never_is",
        ),
        (
            "a child that failed serves again",
            "        return outcome.code is Code.OK and current and not child.demoted\n",
            "        return current and not child.demoted\n",
            "component/luaworker/test_recycled.py::test_a_call_that_failed_ends_its_child",
        ),
        (
            "a script runs before the sandbox is proven",
            "        if verdict.problem:\n            zygote.end()\n            raise NotReady(verdict.problem)\n",
            "",
            "component/luaworker/test_selftest.py::test_a_pool_without_proof_runs_nothing",
        ),
    ),
    *named(
        "luaworker.recycled",
        (
            "a child serves two tenants",
            "if served == key]",
            "if served.digest == key.digest]",
            "component/luaworker/test_recycled.py::test_a_child_never_serves_two_tenants_or_two_scripts",
        ),
        (
            "a child serves without an end",
            "        if child.served >= self._calls or self._most <= 0:\n",
            "        if self._most <= 0:\n",
            "component/luaworker/test_recycled.py::test_a_child_serves_no_more_than_its_number_of_calls",
        ),
    ),
    *named(
        "luaworker.selftest",
        (
            "a filter of system calls that is off is not noticed",
            '        if problem:\n            return Verdict((), f"self-test of the sandbox failed ({layer}): {problem}")\n',
            "",
            "component/luaworker/test_selftest.py::test_the_self_test_finds_a_child_that_may_open_a_socket",
        ),
    ),
    *named(
        "luaworker.fairness",
        (
            "one tenant takes every place",
            "        if self._taken[tenant] >= self._per_tenant:\n            return False\n",
            "",
            "unit/luaworker/test_fairness.py::test_a_tenant_never_has_more_than_its_part",
        ),
        (
            "tenants whose calls are heavy take every place",
            "        if not self._is_heavy(tenant):\n            return True\n",
            "        return True\n",
            "unit/luaworker/test_fairness.py::test_heavy_tenants_together_have_a_part_of_the_places_only",
        ),
        (
            "whoever came first is served, however many of one tenant came",
            "                self._waiting.move_to_end(tenant)\n",
            "                self._waiting.move_to_end(tenant, last=False)\n",
            "unit/luaworker/test_fairness.py::test_tenants_take_turns",
        ),
    ),
    *named(
        "luaworker.child",
        (
            "a script has all the time on the clock",
            "        arm_clock(limits.wall_ms / 1000)\n",
            "        arm_clock(0)\n",
            "component/luaworker/test_selftest.py::test_the_self_test_finds_a_child_that_may_open_a_socket",
        ),
        (
            "a script has all the memory",
            "        sandbox.limit_memory(call.limits.memory_bytes)\n",
            "        sandbox.limit_memory(0)\n",
            "component/luaworker/test_limits.py::test_memory_is_bounded",
        ),
        (
            "a script is run with no filter of system calls",
            "    if inherited.lock is not None:\n        inherited.lock.switch_on()\n",
            "",
            "component/luaworker/test_selftest.py::test_the_self_test_finds_a_child_that_may_open_a_socket",
        ),
        (
            "a child that serves again keeps the state of its last call",
            "            sandbox = inherited.files.build()\n",
            "            pass\n",
            "component/luaworker/test_recycled.py::test_a_packaged_script_is_served_again_by_the_same_child_in_a_fresh_state",
        ),
    ),
    *named(
        "luaworker.wire",
        (
            "a module of somebody else goes without its text",
            "    by_name = knows_library and module.ours\n",
            "    by_name = knows_library\n",
            "unit/luaworker/test_parts.py::test_modules_of_our_library_travel_without_their_texts_to_a_child_that_knows_them",
        ),
    ),
    *named(
        "luaworker.memory",
        (
            "a script that costs a process each time is run on and on",
            "        if record is None or record.failures < _FAILURES:\n",
            "        if record is None or record.failures:\n",
            "component/luaworker/test_limits.py::test_a_script_that_keeps_failing_is_not_run_for_a_while",
        ),
    ),
    *named(
        "luaworker.tls",
        (
            "a client without a certificate is let in",
            "require_client_authentication=True",
            "require_client_authentication=False",
            "component/luaworker/test_service.py::test_only_clients_of_the_same_authority_are_let_in",
        ),
        (
            "certificates that were replaced are not taken up",
            "                current = found\n",
            "                current = current or found\n",
            "component/luaworker/test_tls.py::test_replaced_certificates_are_used_without_a_restart",
        ),
    ),
    *named(
        "luaworker.service",
        (
            "an object of any size is run",
            "        if size > bound:\n",
            "        if size < 0:\n",
            "component/luaworker/test_deadlines.py::test_an_object_beyond_its_size_is_refused_by_name",
        ),
    ),
    *named(
        "luaworker.seccomp",
        (
            "a child may write to any descriptor",
            "    program += _when(machine.write, _only_channel())\n",
            "    program += _when(machine.write, [_op(_RET, 0, 0, _ALLOW)])\n",
            "unit/luaworker/test_seccomp.py::test_only_a_child_that_serves_again_may_set_timers",
        ),
    ),
)
