"""Sample events: one of each topic, with the reasons and words of real ones.

Invariant: pure. All samples have the same release, so a target that closes an incident by its release closes that of an
earlier sample; the instant makes each sample an event of its own. The message says that it is a sample: somebody may be
woken by it.
"""

from datetime import datetime

from controller.api.meta import Key
from controller.api.notification import Occasion, Topic
from controller.domain import reasons
from controller.domain.notifications.occasions import (
    CHARACTERS_OF_AN_ID,
    WAITS_FOR_APPROVAL,
)
from controller.domain.rollout.words import messages

ROLLOUT, REVISION, RELEASE, PERSON = "web", "web-6d4c", "sample", "jane@example.com"
MARK = "a sample of notify test"
UID = "00000000-0000-0000-0000-000000000000"
_WORDS = {
    Topic.STARTED: (
        reasons.RELEASE_STARTED,
        f"a release of {REVISION} started; stable is web-58f9",
    ),
    Topic.WAITS_FOR_APPROVAL: (WAITS_FOR_APPROVAL, "step 1 is ready and waits for an approval"),
    Topic.STALLED: (
        reasons.DEADLINE_EXCEEDED,
        "2 of 5 new pods are not ready after 10m: web-6d4c-x2k9p: ImagePullBackOff",
    ),
    Topic.GATE_FAILED: (
        reasons.ANALYSIS_FAILED,
        "the gate of step 1 failed: errors is 0.07, and at most 0.01 is good",
    ),
    Topic.ROLLED_BACK: (reasons.RELEASE_CANCELED, f"{REVISION}: {messages.CANCELED}"),
    Topic.FINISHED: (reasons.RELEASE_COMPLETED, f"{REVISION}: {messages.COMPLETED}"),
    Topic.DRIFT_HELD: (
        reasons.ROUTE_HELD,
        "somebody changed HTTPRoute web, and the release waits for a person",
    ),
}
_ENDS = (Topic.FINISHED, Topic.ROLLED_BACK)
_NEXT = {
    Topic.WAITS_FOR_APPROVAL: "approve",
    Topic.STALLED: "why",
    Topic.DRIFT_HELD: "why",
}


def sample(topic: Topic, namespace: str, now: datetime) -> Occasion:
    """An event of this topic, of a Rollout `web` that need not exist."""
    reason, message = _WORDS[topic]
    rollout = Key(namespace, ROLLOUT)
    return Occasion(
        id=f"sample{now:%Y%m%d%H%M%S}"[:CHARACTERS_OF_AN_ID],
        topic=topic,
        reason=reason,
        message=f"{message} ({MARK})",
        at=now,
        namespace=namespace,
        rollout=ROLLOUT,
        uid=UID,
        release=RELEASE,
        revision=REVISION,
        step=2 if topic in _ENDS else 1,
        steps=2,
        who=PERSON if topic in _ENDS else "",
        next=_command(topic, rollout),
    )


def _command(topic: Topic, rollout: Key) -> str:
    verb = _NEXT.get(topic)
    return f"kubectl moonshift {verb} {rollout.name} -n {rollout.namespace}" if verb else ""
