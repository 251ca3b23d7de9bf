"""The checker of the status' pod counts flags bad histories, and no good ones."""

import copy
from collections.abc import Callable

import pytest

from tests.cluster import manifests
from tests.cluster.kinds import DEPLOYMENTS, ROLLOUTS
from tests.cluster.manifests import NEW_IMAGE
from tests.cluster.truth import LAG
from tests.unit.cluster.history_builder import APP, HistoryBuilder, at_rest


def released() -> HistoryBuilder:
    """A release that has no new pod yet."""
    history = at_rest().put(DEPLOYMENTS, APP.name, manifests.deployment(APP))
    return history.do("release", NEW_IMAGE)


def approved(history: HistoryBuilder) -> HistoryBuilder:
    """Somebody wrote an approval into the status as it was."""
    reported = next(c.object for c in reversed(history.changes) if c.key.kind == ROLLOUTS)
    body = copy.deepcopy(reported)
    body["status"]["canaryStatus"]["currentStepState"] = "StepReady"
    return history.put(ROLLOUTS, APP.name, body)


BAD: dict[str, Callable[[], HistoryBuilder]] = {
    "a status that counts a pod that never was": (
        lambda: released().new_pod("c").reports("StepUpgrade", 2, 1)
    ),
    "a status that calls a pod ready that is not": (
        lambda: released().new_pod("c", ready=False).reports("StepUpgrade", 1, 1)
    ),
    "a status that counts pods as they were too long ago": (
        lambda: changed_often(released()).reports("StepUpgrade", 0, 0)
    ),
    "a status that counts pods of no revision": (
        lambda: nameless(released().new_pod("c").reports("StepUpgrade", 1, 1))
    ),
    "a step that waits for its approval before its pods are ready": (
        lambda: (
            released()
            .reports("StepUpgrade", 0, 0)
            .new_pod("c", ready=False)
            .reports("StepPaused", 1, 0)
        )
    ),
    "a second step that leaves its pods behind before they are ready": (
        lambda: (
            released()
            .new_pod("c")
            .reports("StepPaused", 1, 1)
            .reports("StepTrafficRouting", 1, 1, step=2)
        )
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_the_checker_flags(name: str) -> None:
    assert "StatusIsTrue" in BAD[name]().broken()


def test_a_status_that_lags_a_few_changes_passes() -> None:
    history = released().new_pod("c", ready=False).new_pod("c")
    assert (
        "StatusIsTrue"
        not in history.reports("StepUpgrade", 1, 0).reports("StepPaused", 1, 1).broken()
    )


def test_an_approval_that_nobody_has_looked_at_is_not_the_controllers_word() -> None:
    history = approved(changed_often(released().new_pod("c").reports("StepPaused", 1, 1)))
    assert "StatusIsTrue" not in history.broken()


def test_a_step_whose_pods_fail_after_it_was_left_passes() -> None:
    history = released().new_pod("c").reports("StepTrafficRouting", 1, 1)
    history.new_pod("c", ready=False).reports("StepTrafficRouting", 1, 0).reports(
        "StepPaused", 1, 0
    )
    assert "StatusIsTrue" not in history.broken()


def changed_often(history: HistoryBuilder) -> HistoryBuilder:
    """A new pod that becomes ready and unready again more often than a cache lags."""
    for number in range(LAG + 1):
        history.new_pod("c", ready=bool(number % 2))
    return history


def nameless(history: HistoryBuilder) -> HistoryBuilder:
    """The status does not say whose pods it counts."""
    del history.changes[-1].object["status"]["canaryStatus"]["podTemplateHash"]
    return history
