"""Sends an event by a script: what the script is given, and what its answer means.

Invariant: the same event has the same id in every try and every process, so the receiver can recognise a repetition. A
target never decides anything about a release.
"""

from controller.api.notification import NotificationSpec, Occasion
from controller.domain.decision import OwnScript
from controller.domain.exchange.answer import Does, Later, Sent
from controller.domain.exchange.turn_input import Question
from controller.domain.gates.in_source import parameter
from controller.domain.notifications.event import event_of
from controller.domain.traffic.tree import Json
from controller.outbound.exchanging import Call, Exchanging
from controller.outbound.script_runs import Wanted

SECONDS = 20.0
"""For all turns of one try."""


def wanted_by(spec: NotificationSpec, namespace: str) -> Wanted:
    """The script; `namespace` has its Secrets and its ConfigMap."""
    own = spec.script_ref
    return Wanted(
        Does.TARGET,
        spec.script,
        namespace,
        None if own is None else OwnScript(namespace, own.name, own.service_account_name, own.key),
    )


def call_of(spec: NotificationSpec, namespace: str, occasion: Occasion) -> Call:
    """The call that sends this event."""
    return Call(
        wanted_by(spec, namespace),
        Question(parameters_of(spec), occasion.id, {"event": event_of(occasion, spec.link)}),
        spec.secrets,
        SECONDS,
    )


def parameters_of(spec: NotificationSpec) -> dict[str, Json]:
    """The parameters that are texts, numbers, true or false."""
    found = {name: parameter(raw) for name, raw in spec.params.items()}
    return {name: value for name, value in found.items() if value is not None}


async def tell(exchanging: Exchanging, call: Call) -> Later | None:
    """Send it once. The answer is None if the target has it, and `Later` if the target asks for another try. Raises
    `Failed`.
    """
    ended = (await exchanging.called(call)).ended
    assert isinstance(ended, Sent | Later), "the answer of a target was read as one"
    return ended if isinstance(ended, Later) else None
