"""Two queues of ready keys: which key is next."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.urgent_line import URGENT_IN_A_ROW, Lines


def lines(ordinary: str = "", urgent: str = "") -> Lines[str]:
    made: Lines[str] = Lines()
    for since, key in enumerate(ordinary):
        made.join(key, since, urgent=False)
    for since, key in enumerate(urgent):
        made.join(key, since, urgent=True)
    return made


def order(ready: Lines[str]) -> str:
    return "".join(ready.take().key for _ in range(len(ready)))


def test_urgent_keys_go_first_and_each_line_is_first_come_first_served() -> None:
    assert order(lines("abc", "xyz")) == "xyzabc"


def test_a_key_that_becomes_urgent_waits_as_one_from_then_on() -> None:
    ready = lines("abc")
    assert ready.hurry("c", 7)
    taken = ready.take()
    assert (taken.key, taken.since, taken.urgent) == ("c", 7, True)


def test_a_key_that_is_urgent_already_or_in_no_line_cannot_hurry() -> None:
    ready = lines(urgent="x")
    assert not ready.hurry("x", 1)
    assert not ready.hurry("nobody", 1)


def test_urgent_keys_without_end_leave_every_fifth_turn_to_the_crowd() -> None:
    ready, number = lines("ab"), itertools.count()
    taken = []
    for _ in range(3 * (URGENT_IN_A_ROW + 1)):
        ready.join(f"urgent-{next(number)}", 0, urgent=True)
        taken.append(ready.take().key)
    fifth = [key for key in taken if not key.startswith("urgent")]
    assert fifth == ["a", "b"]
    assert [taken.index(key) for key in fifth] == [4, 9]


def test_turns_that_nobody_had_to_wait_for_do_not_count_as_a_row() -> None:
    ready = lines(urgent="uvwxyz")
    for _ in range(5):
        ready.take()
    ready.join("a", 0, urgent=False)
    assert order(ready) == "za"


@given(
    st.lists(
        st.tuples(st.sampled_from(("join", "urgent", "hurry", "leave", "take")), st.integers(0, 9)),
        max_size=80,
    )
)
def test_a_key_is_in_one_line_and_leaves_it_once(steps: list[tuple[str, int]]) -> None:
    ready: Lines[int] = Lines()
    standing: set[int] = set()
    for action, key in steps:
        match action:
            case "join" | "urgent" if key not in ready:
                ready.join(key, 0, urgent=action == "urgent")
                standing.add(key)
            case "hurry":
                ready.hurry(key, 1)
            case "leave":
                ready.leave(key)
                standing.discard(key)
            case "take" if len(ready):
                standing.remove(ready.take().key)
            case _:
                pass  # joins twice, or nobody is there
        assert sorted(ready) == sorted(standing)
        assert len(ready) == len(standing)
