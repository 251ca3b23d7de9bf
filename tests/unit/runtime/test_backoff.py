"""Growing, capped, jittered waits."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.backoff import Backoff, growing_delay, jittered


@given(st.integers(0, 5000), st.floats(0.001, 1), st.floats(1, 1000))
def test_a_delay_never_exceeds_the_cap_nor_falls_below_the_base(
    failures: int, base: float, cap: float
) -> None:
    assert base <= growing_delay(failures, base, cap) <= cap


@given(st.floats(0, 1000), st.integers())
def test_jitter_only_shortens_and_by_a_quarter_at_most(delay: float, seed: int) -> None:
    assert 0.75 * delay <= jittered(delay, Random(seed)) <= delay


def test_waits_double_and_start_again_after_a_reset() -> None:
    class Unjittered(Random):
        def random(self) -> float:
            return 0.0

    backoff = Backoff(0.2, 30, Unjittered())
    assert [backoff.next() for _ in range(10)][:4] == [0.2, 0.4, 0.8, 1.6]
    assert backoff.next() == 30
    backoff.reset()
    assert backoff.next() == 0.2
