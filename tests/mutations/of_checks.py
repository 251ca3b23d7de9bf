"""Deliberate defects of checks: which answers count, what is stored first, and which waits are none."""

from tests.mutations.changes import always, becomes, never, removed, returns, without
from tests.mutations.mutation import Mutation, named

CHECKING = "unit/domain/rollout/approvals/test_checking.py"
ANSWERING = "unit/domain/checks/test_answering.py"

OF_CHECKS: tuple[Mutation, ...] = (
    *named(
        "controller.domain.checks.answering",
        (
            "an answer of another turn counts",
            "counted",
            becomes("answer turn run", "answer.id == run.id"),
            f"{ANSWERING}::test_an_answer_of_another_turn_or_another_check_counts_for_nothing",
        ),
        (
            "a check never runs out of time",
            "counted",
            always("ends"),
            f"{ANSWERING}::test_a_check_fails_when_its_time_is_over",
        ),
        (
            "a check that holds is asked again at once",
            "is_asked",
            without("again_at now"),
            f"{ANSWERING}::test_a_check_that_holds_is_asked_again_when_it_said_so_and_not_before",
        ),
    ),
    *named(
        "controller.domain.rollout.approvals.checking",
        (
            "a check is asked before its record is stored",
            "_is_stored",
            returns("True"),
            f"{CHECKING}::test_a_check_is_asked_only_when_its_record_is_stored",
        ),
        (
            "a way back waits for checks",
            "looked",
            never("returning"),
            "unit/domain/rollout/moving/test_returning.py::test_a_way_back_waits_for_no_check",
        ),
        (
            "a gate that holds and a check are asked in turns for ever",
            "asked_anew",
            never("holding_run"),
            f"{CHECKING}::test_a_gate_that_failed_beside_a_check_that_holds_stops_the_step",
        ),
    ),
    *named(
        "controller.domain.rollout.ends.telling",
        (
            "a rollback is reported by steps that the release has not reached",
            "with_told",
            becomes("visits", "range(1, len(release.steps) + 1)"),
            f"{CHECKING}::test_a_rollback_informs_for_the_steps_that_were_reached_only",
        ),
    ),
    *named(
        "controller.outbound.checking",
        (
            "a script asks on before its state is stored",
            "_Conversation.kept",
            removed("wait"),
            "component/outbound/test_checks_in_turns.py::test_no_request_is_sent_before_what_is_kept_is_stored",
        ),
    ),
)
