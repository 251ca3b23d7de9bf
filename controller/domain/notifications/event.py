"""An event as the script of a target gets it.

Invariant: pure; a field without a value is absent, never an empty text.
"""

from controller.api.notification import Occasion
from controller.domain.traffic.tree import Tree

NAMESPACE = "{{ namespace }}"
ROLLOUT = "{{ rollout }}"


def event_of(occasion: Occasion, link: str = "") -> Tree:
    """`obj.event`."""
    place = link.replace(NAMESPACE, occasion.namespace).replace(ROLLOUT, occasion.rollout)
    event: Tree = {
        "kind": "Rollout",
        "uid": occasion.uid,
        "namespace": occasion.namespace,
        "rollout": occasion.rollout,
        "release": occasion.release,
        "revision": occasion.revision,
        "reason": occasion.reason,
        "message": occasion.message,
        "time": int(occasion.at.timestamp()),
        "step": occasion.step or None,
        "steps": occasion.steps or None,
        "who": occasion.who,
        "next": occasion.next,
        "link": place,
    }
    return {name: value for name, value in event.items() if value not in ("", None)}
