"""Messages that more than one place reports."""

from controller.domain import reasons
from controller.domain.decision import Severity
from controller.domain.rollout.words.messages import status_refused


def test_a_refused_status_is_reported_with_the_words_of_the_api_server() -> None:
    note = status_refused('rollouts "web" is forbidden', "TrafficRouting")
    assert (note.reason, note.severity) == (reasons.STATUS_REFUSED, Severity.WARNING)
    assert "status of this TrafficRouting" in note.message
    assert note.message.endswith('rollouts "web" is forbidden')
