"""The output of the suite's program is read right: names, places, the first failed expectation."""

from tests.originals_suite.differences import DIFFERENCES
from tests.originals_suite.reading import Spec, reason_of, specs
from tests.originals_suite.report import Report
from tests.originals_suite.running import Outcome

LISTING = """\
Running Suite: Kruise Rollout Resource Controller Suite
Will run 72 of 72 specs

[rollouts] Rollout [kruise.io] Deployment canary rollout with Ingress
  V1->V2: A/B testing, aliyun-alb, header & cookies
  github.com/openkruise/rollouts@v0.6.3/test/e2e/rollout_test.go:1941
•
------------------------------
[rollouts] Rollout v1beta1 [kruise.io] Test
  failure threshold
  github.com/openkruise/rollouts@v0.6.3/test/e2e/rollout_v1beta1_test.go:6424
•
"""
FAILURE = """\
replicas 5, available: 5, updated: 5
• Failure [13.001 seconds]
[rollouts] Rollout
rollout_test.go:75
  [kruise.io] Disabled rollout tests
  suite_test.go:137
    Rollout status tests [It]
    github.com/openkruise/rollouts@v0.6.3/test/e2e/rollout_test.go:3122

    Expected
        <bool>: false
    to be true

    github.com/openkruise/rollouts@v0.6.3/test/e2e/rollout_test.go:3166
------------------------------
"""
SPEC = Spec("[rollouts] Rollout [kruise.io] Others", "a (b)", "rollout_test.go:1")


def test_a_listing_has_a_spec_for_each_place() -> None:
    alb, threshold = specs(LISTING)
    assert (alb.text, alb.place) == (
        "V1->V2: A/B testing, aliyun-alb, header & cookies",
        "rollout_test.go:1941",
    )
    assert threshold.group_title == "Rollout v1beta1 Test"


def test_a_focus_takes_brackets_and_the_end_literally() -> None:
    assert SPEC.focus.endswith(r"a\ \(b\)$")
    assert r"\[kruise\.io\]" in SPEC.focus


def test_the_reason_is_the_expectation_and_its_line() -> None:
    reason = reason_of(FAILURE)
    assert reason.startswith("rollout_test.go:3166: ")
    assert "Expected <bool>: false to be true" in reason


def test_a_passed_run_has_no_reason() -> None:
    assert reason_of("Ran 1 of 72 Specs\n• 1 Passed") == ""


def test_a_difference_that_passes_is_a_surprise_and_one_that_fails_is_none() -> None:
    place = next(iter(DIFFERENCES))
    different = Spec("[rollouts] Rollout", "it", place)
    failed, passed = Outcome(different, False, 1.0), Outcome(different, True, 1.0)
    assert Report.of([failed], 72).surprises == ()
    assert Report.of([passed], 72).surprises == (passed,)


def test_a_spec_that_fails_without_a_difference_is_a_surprise() -> None:
    failed = Outcome(SPEC, False, 1.0, "rollout_test.go:1: it")
    report = Report.of([failed, Outcome(SPEC, True, 1.0, attempts=2)], 72)
    assert report.surprises == (failed,)
    assert report.summary().startswith("1 of 2 passed (1 of them when tried again)")
