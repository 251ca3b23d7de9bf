"""The requests that are counted, and the limit from which a share is wrong."""

import math

import pytest

from localcluster.traffic.tally import KEPT_FAILURES, Tally, sigmas


def test_a_window_counts_only_requests_sent_while_it_is_open() -> None:
    tally = Tally()
    tally.sent("plain").answered("old")
    before = tally.sent("marked")
    with tally.window() as window:
        before.answered("old")
        tally.sent("plain").answered("new")
        tally.sent("plain").answered("old")
        tally.sent("marked").answered("new")
        tally.sent("plain").failed(1.0, "503")
        late = tally.sent("marked")
    late.answered("new")
    tally.sent("plain").answered("new")
    assert window.total("plain") == 2
    assert window.total("marked") == 2
    assert window.share("plain", "new") == 0.5
    assert window.share("marked", "new") == 1.0
    assert window.share("nobody", "new") == 0.0
    assert window.failed == 1
    assert tally.requests == 8


def test_every_failure_is_counted_and_the_first_are_kept_with_their_stage() -> None:
    tally = Tally()
    tally.stage = "step 1"
    for _ in range(KEPT_FAILURES + 5):
        tally.sent("plain").failed(0.5, "503")
    assert tally.whole.failed == KEPT_FAILURES + 5
    assert len(tally.failures) == KEPT_FAILURES
    assert tally.failures[0].stage == "step 1"


@pytest.mark.parametrize(
    ("share", "expected", "requests", "missed"),
    [
        (0.2, 0.2, 10_000, 0.0),
        (0.204, 0.2, 10_000, 1.0),
        (0.0, 0.0, 10, 0.0),
        (1.0, 1.0, 10, 0.0),
        (0.999, 1.0, 10_000, math.inf),
        (0.0001, 0.0, 10_000, math.inf),
    ],
)
def test_a_share_misses_by_this_number_of_deviations(
    share: float, expected: float, requests: int, missed: float
) -> None:
    assert sigmas(share, expected, requests) == pytest.approx(missed)
