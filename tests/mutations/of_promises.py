"""Deliberate defects of the status, and of the share between two steps."""

from tests.mutations.mutation import Mutation, named

OF_PROMISES: tuple[Mutation, ...] = (
    *named(
        "controller.domain.rollout.steps",
        (
            "the share is taken away between two steps",
            "    if not context.step(index).routes_traffic and not context.takes_all(index):\n",
            "    if not context.takes_all(index):\n",
            "unit/domain/rollout/test_releases.py::test_the_share_stays_until_the_next_step_gives_more",
        ),
    ),
    *named(
        "controller.domain.rollout.beginning",
        (
            "a release begins as one that has succeeded",
            '    status = without_condition(without_condition(status, "Succeeded"), DRIFTED)\n',
            "    status = without_condition(status, DRIFTED)\n",
            "unit/domain/rollout/test_phases.py::test_the_succeeded_condition_goes_when_the_next_release_begins",
        ),
    ),
    *named(
        "controller.domain.rollout.finalising",
        (
            "a restore that stopped half-way is taken back",
            " or _is_promoted(context, status)\n",
            "\n",
            "unit/domain/rollout/test_blue_green.py::test_a_restore_that_stopped_half_way_goes_on_and_gives_no_share_again",
        ),
    ),
    *named(
        "controller.domain.rollout.phases",
        (
            "the status tells the generation that was looked at first",
            "        stop.status, observed_generation=context.seen.rollout.metadata.generation\n",
            (
                "        stop.status, observed_generation=stop.status.observed_generation\n"
                "        or context.seen.rollout.metadata.generation\n"
            ),
            "unit/domain/rollout/test_phases.py::test_the_status_tells_the_generation_that_was_looked_at",
        ),
    ),
    *named(
        "controller.domain.conditions",
        (
            "a condition that is itself again after a pass gets another transition time",
            "    return structs.replace(new, last_transition_time=old.last_transition_time)\n",
            "    return new\n",
            "unit/domain/test_conditions.py::test_a_condition_that_is_itself_again_after_a_pass_keeps_its_transition_time",
        ),
    ),
    *named(
        "controller.scripts.client",
        (
            "a certificate that is not accepted looks like a worker that does not run",
            '        untrusted = "handshake failed" in (error.details() or "")\n',
            "        untrusted = False\n",
            "component/scripts/test_client.py::test_a_certificate_that_is_not_accepted_is_said_and_where_to_look",
        ),
    ),
)
