"""Reading Rollouts, with errors that help: a missing CRD, a similar name, a workload's name.

Invariant: a 404 is never shown unchanged; the error says whether the kind or the object is missing.
"""

import difflib

import msgspec

from controller.api import salvage
from controller.api.meta import Key
from controller.api.rollout import Rollout
from controller.cli.failures import Failure
from controller.cli.reading.session import Session
from controller.errors import MoonshiftError, NotFound, UnreadableAnswer
from controller.kube.client import KubeClient
from controller.kube.resources import ROLLOUTS
from controller.kube.watch import read_identity, read_page

NO_CRD = (
    "this cluster has no Rollouts (rollouts.kruise.io/v1beta1 is not served): install Moonshift's CRDs, or check "
    "--context"
)


async def list_rollouts(client: KubeClient, namespace: str | None) -> tuple[Rollout, ...]:
    """All Rollouts of a namespace, or of all of them."""
    found: list[Rollout] = []
    try:
        async for page in client.list_pages(ROLLOUTS, namespace):
            found += [_rollout(item) for item in read_page(page).items or ()]
    except NotFound as missing:
        raise Failure(NO_CRD) from missing
    return tuple(sorted(found, key=lambda rollout: rollout.metadata.key))


async def read_rollout(session: Session, name: str) -> Rollout:
    """One Rollout; a Failure with a suggestion when there is none."""
    try:
        body = await session.client.get(ROLLOUTS, session.namespace, name)
    except NotFound as missing:
        raise Failure(await _missing_rollout_text(session, name)) from missing
    return _rollout(body)


def _rollout(raw: bytes | msgspec.Raw) -> Rollout:
    """Raises UnreadableAnswer: a newer version of Moonshift may have given a field another form."""
    try:
        return salvage.read_rollout(raw)
    except msgspec.DecodeError as failure:
        named = read_identity(raw).metadata
        key = Key(named.namespace, named.name)
        raise UnreadableAnswer(f"Rollout {key} cannot be read: {failure}") from failure


async def _missing_rollout_text(session: Session, name: str) -> str:
    here = f"there is no Rollout {name} in namespace {session.namespace}"
    try:
        found = await list_rollouts(session.client, session.namespace)
    except MoonshiftError:
        return f"{here} (and the others may not be listed): check the name and -n"
    return suggestion(name, session.namespace, found)


def suggestion(name: str, namespace: str, present: tuple[Rollout, ...]) -> str:
    """The line for a name that does not exist, with similar existing names."""
    here = f"there is no Rollout {name} in namespace {namespace}"
    for rollout in present:
        ref = rollout.spec.workload_ref
        if ref.name == name:
            return f"{here}; {ref.kind} {name} is released by Rollout {rollout.metadata.name}"
    known = [rollout.metadata.name for rollout in present]
    if near := difflib.get_close_matches(name, known, n=3):
        return f"{here}; did you mean {' or '.join(near)}?"
    if not known:
        return f"{here}, and no other: check -n, or look everywhere with get -A"
    shown = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
    return f"{here}; there are: {shown}"
