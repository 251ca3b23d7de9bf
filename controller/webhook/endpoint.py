"""The webhook endpoint of one replica: its certificates kept, its server running.

Invariant: the port listens only with a certificate. A replica that cannot get a certificate, or cannot publish its
authority and its user name, is not ready, says why and tries again, and never ends the process. A replica that has done
both is ready when its port listens, even without full caches, and stays ready while the API server is away. At rest
there is no request to the API server: certificates are renewed months before they end, so a check every few hours is
enough, and another one at once when somebody changes the Secret or the webhook configurations. If somebody (for example
another installation) changes them again and again, they are corrected `HEALINGS` times at once, and then as many times
in `HEALING_TIME`; in between only our user name is corrected at once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path

from aiohttp import web

from controller.certificates.keeper import CertificateKeeper
from controller.certificates.publish import CRD
from controller.errors import Forbidden, MoonshiftError
from controller.runtime.beside import beside
from controller.webhook.healing import Budget
from controller.webhook.server import serving
from controller.webhook.tls import Loaded, ServingTls

LOOK_AGAIN = timedelta(hours=6)
LOOK_FOR_MISSING = timedelta(seconds=8)
RETRY = timedelta(seconds=2)
AGAIN = timedelta(seconds=0.3)
"""The time after a correction, as objects are often applied one after another; it grows while nothing is to correct."""
HEARD = timedelta(seconds=1)
"""The time after publishing an authority in which every API server learns of it, before its certificate is served."""
SOONEST = timedelta(seconds=5)
"""The time between two scheduled rounds."""
HEALINGS = 12
HEALING_TIME = timedelta(minutes=1)

_RIVAL = (
    "somebody else changes the webhook configurations or the certificates again and again: they are corrected every "
    "five seconds only; look at their managedFields, and for a second installation (moonshift install --check)"
)

log = logging.getLogger(__name__)


class Endpoint:
    """Serves `app` over TLS with the certificate the keeper writes into `files`."""

    def __init__(
        self,
        app: web.Application,
        *,
        port: int,
        keeper: CertificateKeeper,
        files: Path,
        client_authority: Path | None = None,
        loaded: Loaded | None = None,
        beside: Callable[[], Coroutine[object, object, None]] | None = None,
    ) -> None:
        """`client_authority` signs the certificates of API servers that have one; `beside` runs for the same time."""
        self._work_beside = beside or _idle
        self._app = app
        self._port = port
        self._keeper = keeper
        self.files = files
        """Where the certificate is, from `certified` on."""
        self._client_authority = client_authority
        self._loaded = loaded
        self._trouble: str | None = "certificates are not ready"
        self.certified = asyncio.Event()
        self.listening = asyncio.Event()
        self._again = asyncio.Event()
        self._healings = Budget(HEALINGS, HEALING_TIME)
        self._owed = False
        """A foreign change was not corrected, because there were too many of them."""

    @property
    def problem(self) -> str | None:
        """The reason why API servers must not call this replica; None if they may.

        A certificate is not enough: a replica that was called ready before its port listened refused connections, and
        with them the changes of users, for the first moments after its start.
        """
        if self._trouble is None and not self.listening.is_set():
            return "the port does not listen yet"
        return self._trouble

    def note(self) -> str | None:
        """How the served certificate, or its publication, differs from the requested one; None if neither differs."""
        return self._keeper.note or (_RIVAL if self._owed else None)

    async def run(self) -> None:
        """Serve until cancelled."""
        async with beside(self._work_beside, "work beside the webhooks"):
            await self._serve()

    async def _serve(self) -> None:
        ready = await self._round()
        self.certified.set()
        tls = await asyncio.to_thread(ServingTls, self.files, self._client_authority, self._loaded)
        async with (
            serving(self._app, "", self._port, tls.context),
            beside(tls.run, "serving certificate"),
        ):
            self.listening.set()
            pause = AGAIN
            while True:
                changed = await self._changed_within(self._patience(ready), pause)
                healing = changed or self._owed
                if healing and self._healings.next_in():
                    pause = RETRY
                    self._set_owed()
                    await self._let_pass()
                    continue
                self._owed = False
                before = self._keeper.written
                ready = await self._round()
                wrote = self._keeper.written > before
                if healing and wrote:
                    self._healings.take()
                pause = AGAIN if wrote else min(RETRY, 2 * pause)
                await self._load(tls)

    def _patience(self, ready: bool) -> timedelta:
        """The time until the next check if nothing changes."""
        if not ready:
            return LOOK_FOR_MISSING
        due = min(LOOK_AGAIN, max(SOONEST, self._keeper.due_within()))
        return min(due, self._healings.next_in()) if self._owed else due

    async def _load(self, tls: ServingTls) -> None:
        """Serve the certificate that the round has written, if it is another one, once its authority is known."""
        if await asyncio.to_thread(tls.is_outdated):
            await asyncio.sleep(HEARD.total_seconds())
            await asyncio.to_thread(tls.reload)

    def look_again(self) -> None:
        """Something that is published may have been changed by somebody else."""
        self._again.set()

    async def _changed_within(self, longest: timedelta, pause: timedelta) -> bool:
        """Whether the published objects changed before the time of the next round, which is not before the pause."""
        await asyncio.sleep(pause.total_seconds())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout((longest - pause).total_seconds()):
                await self._again.wait()
        changed = self._again.is_set()
        self._again.clear()
        return changed

    async def _let_pass(self) -> None:
        try:
            await self._keeper.let_pass()
        except MoonshiftError as failure:
            log.warning("not published again", extra={"error": str(failure)})
            self._again.set()

    async def _round(self) -> bool:
        """Certificates as they have to be; False while something they are published in is not installed."""
        while True:
            try:
                missing = await self._keeper.ensure()
            except MoonshiftError as failure:
                if self._trouble is not None or isinstance(failure, Forbidden):
                    self._set_problem(f"certificates: {failure}")
                else:
                    log.warning("not published again", extra={"error": str(failure)})
                await asyncio.sleep(RETRY.total_seconds())
                continue
            if missing:
                self._set_problem(f"not installed: {', '.join(missing)}")
            if all(name.startswith(CRD) for name in missing):
                # Webhooks work without a CRD: refusing every change because one is missing would help nobody.
                self._trouble = None
            return not missing

    def _set_owed(self) -> None:
        if not self._owed:
            log.warning("not published again", extra={"error": _RIVAL})
        self._owed = True

    def _set_problem(self, problem: str) -> None:
        if problem != self._trouble:
            log.warning("webhooks are not ready", extra={"error": problem})
        self._trouble = problem


async def _idle() -> None:
    """Nothing runs at the same time."""
    await asyncio.Event().wait()
