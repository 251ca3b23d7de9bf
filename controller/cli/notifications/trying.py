"""A sample event, told by the script of a Notification: its requests are shown, and sent only if the person wants it.

Invariant: the script, the checks of its requests and the way of sending are the controller's. Without `send` no Secret
is read and no address is asked. The values of Secrets stand nowhere in what is shown: there they are `${name}`.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from yarl import URL

from controller.api.notification import Topic
from controller.cli.gates.own_scripts import found_scripts
from controller.cli.gates.own_sources import asking_scripts, given_secrets
from controller.cli.notifications.found import Found
from controller.cli.notifications.sample import sample
from controller.cli.script_tools.engine import private_worker
from controller.cli.script_tools.live_run import Recorded, Turn, shown
from controller.cli.views.view import View
from controller.domain.exchange.request import ObjectRequest
from controller.domain.gates.secret_destinations import GateSecret
from controller.domain.notifications.event import event_of
from controller.domain.traffic.tree import Json, Tree
from controller.effects.asking_scripts import KubeAskingScripts
from controller.effects.gate_secrets import GateSecrets
from controller.outbound.egress import AllowList, Anywhere
from controller.outbound.exchanging import Call, Exchanging
from controller.outbound.fetching import Failed, Fetching
from controller.outbound.script_runs import Wanted
from controller.outbound.target import call_of, tell, wanted_by


class NotificationTried(View, frozen=True):
    """One event: the requests of each turn of the script, and what became of it."""

    notification: str
    script: str
    topic: Topic
    chosen: bool
    """`spec.events` has the topic."""
    event: Json
    requests: tuple[Json, ...]
    sent: bool = False
    problem: str = ""


class _Nowhere(AllowList):
    """No address: it remembers that one would have been asked."""

    asked = False

    def refusal(self, namespace: str, url: URL, *, posts: bool = False) -> str:
        """Always a refusal, before any Secret is read."""
        self.asked = True
        return "nothing is sent without --send"


class _Secrets:
    """Secrets of the files, then of the cluster, read with the rights of the person."""

    def __init__(self, given: Mapping[str, GateSecret], cluster: GateSecrets | None) -> None:
        self._given = given
        self._cluster = cluster

    async def read(self, namespace: str, name: str) -> GateSecret:
        """The Secret. Raises `Failed` if there is none."""
        if name in self._given:
            return self._given[name]
        if self._cluster is None:
            raise Failed(
                f"Secret {namespace}/{name} is not among the files: give its manifest with -f, too"
            )
        return await self._cluster.read(namespace, name)


class _RecordedScripts:
    """The scripts, of which the one that is run is remembered."""

    def __init__(self, scripts: KubeAskingScripts) -> None:
        self._scripts = scripts
        self._run: Recorded | None = None

    @property
    def turns(self) -> Iterable[Turn]:
        """Those that the script has begun."""
        return () if self._run is None else self._run.turns

    def find(self, wanted: Wanted) -> Recorded:
        """The script. Raises `Failed`."""
        self._run = Recorded(self._scripts.find(wanted))
        return self._run

    async def may_use(self, wanted: Wanted, secrets: Iterable[str]) -> None:
        """Whether the person may read them is found out when they are read."""
        await self._scripts.may_use(wanted, secrets)

    async def object(self, wanted: Wanted, asked: ObjectRequest) -> Tree | None:
        """Raises `Failed`: no object is read from this machine."""
        return await self._scripts.object(wanted, asked)


async def tried(found: Found, topic: Topic, *, send: bool) -> NotificationTried:
    """The sample event, told or only shown."""
    spec, session = found.notification.spec, found.session
    occasion = sample(topic, found.rollouts, datetime.now(UTC))
    own = wanted_by(spec, found.place).own
    library = await found_scripts(found.objects, () if own is None else (own,), session)
    cluster = None if session is None else GateSecrets(session.client)
    secrets = _Secrets(given_secrets(found.objects, found.place), cluster)
    nowhere = _Nowhere()
    fetching = Fetching(Anywhere() if send else nowhere, secrets)
    problem = ""
    try:
        async with private_worker() as engine:
            scripts = _RecordedScripts(asking_scripts(library, engine))
            exchanging = Exchanging(fetching, scripts, lambda: datetime.now(UTC))
            problem = await _told(exchanging, call_of(spec, found.place, occasion))
    finally:
        await fetching.aclose()
    return NotificationTried(
        notification=found.notification.metadata.name,
        script=spec.script,
        topic=topic,
        chosen=topic in spec.events,
        event=event_of(occasion, spec.link),
        requests=tuple(_requests(scripts.turns)),
        sent=send and not problem,
        problem="" if nowhere.asked else problem,
    )


async def _told(exchanging: Exchanging, call: Call) -> str:
    """Why the target does not have the event; empty if it has."""
    try:
        later = await tell(exchanging, call)
    except Failed as failed:
        return str(failed)
    return "" if later is None else f"it is to be sent again later: {later.why or 'no reason'}"


def _requests(turns: Iterable[Turn]) -> Iterable[Json]:
    for turn in turns:
        result = shown(turn)
        asked = result.get("ask") if isinstance(result, dict) else None
        if isinstance(asked, list):
            yield from asked
