"""The ready children, and the zygote that forks them.

Invariants:
 * a child serves one call and is killed after it, independent of its answer, unless the call says that its script may
   have a recycled child (`recycled.py` keeps those apart);
 * no call waits longer than the queue wait (a call that is run once more may wait as long again);
 * a zygote that dies is replaced, with a growing pause, and a call that was lost with it is run once more;
 * nothing runs before the self-test has proven the sandbox.
Spare children are forked after a reply, not before it, so that no call waits for a fork.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from luaworker.call_outcome import Outcome
from luaworker.codes import Code
from luaworker.demotion import Demotion
from luaworker.errors import BrokenChild, NotReady, Overloaded, TooLate
from luaworker.exchange import converse
from luaworker.fairness import FairQueue
from luaworker.heavy_tenants import HeavyTenants
from luaworker.layers import Layer
from luaworker.metrics import Metrics
from luaworker.recycled import Key, Recycled
from luaworker.rest import Rest
from luaworker.selftest import Verdict, prove
from luaworker.settings import Settings
from luaworker.spawn import Child, Zygote
from luaworker.wire import Call, Limits

_log = logging.getLogger(__name__)
_PAUSES = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
# A zygote that lives this long has not failed at its start: the next pause is short again.
_STEADY_SECONDS = 30.0
_LOOK_SECONDS = 5.0
_SELFTEST_SECONDS = 20.0
# Reasons of a timeout that say nothing about the script if the caller's time was shorter than the limit.
_BY_THE_CLOCK = ("wall", "native")


class Pool:
    """Runs calls on children."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        on_ready: Callable[[bool], None] | None = None,
        library: int = -1,
    ) -> None:
        """`library` is the fingerprint of the library that calls take their own modules from."""
        self._settings = settings
        self._metrics = metrics
        self._library = library
        self._on_ready = on_ready or (lambda _ready: None)
        self._heavy_tenants = HeavyTenants()
        self._queue = FairQueue(
            settings.running,
            settings.running_per_tenant,
            settings.queue_limit,
            settings.running_heavy,
            self._heavy_tenants.is_heavy,
        )
        self._zygote: Zygote | None = None
        self._retired: set[Zygote] = set()
        self._spares: deque[Child] = deque()
        self._recycled = Recycled(settings.running, settings.calls_per_recycled)
        self._wanted: deque[asyncio.Future[Child]] = deque()
        self._lost = asyncio.Event()
        self._supervisor: asyncio.Task[None] | None = None
        self._rest: Rest | None = None
        self._usual = settings.limits
        self._proven: Verdict | None = None
        self.problem = "the worker is starting"
        metrics.watch_pool(lambda: len(self._spares), self._queue)

    @property
    def ready(self) -> bool:
        """Scripts can run now."""
        return not self.problem

    @property
    def backend(self) -> str:
        """The Lua engine's name."""
        return self._zygote.backend if self._zygote else ""

    @property
    def zygote_pid(self) -> int:
        """Process id of the zygote, 0 while there is none."""
        return self._zygote.pid if self._zygote else 0

    async def start(self) -> None:
        """Starts the zygote and proves the sandbox; returns when that succeeded or failed once."""
        first = asyncio.Event()
        self._rest = Rest(self._settings.rest_after, self._let_go)
        self._supervisor = asyncio.create_task(self._supervise(first), name="zygote-supervisor")
        waiting = asyncio.create_task(first.wait())
        await asyncio.wait((waiting, self._supervisor), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def until(self, stopping: asyncio.Task[str]) -> str:
        """The result of `stopping`. Raises what ended the supervision before that: nobody would replace the zygote."""
        assert self._supervisor is not None
        await asyncio.wait((stopping, self._supervisor), return_when=asyncio.FIRST_COMPLETED)
        if self._supervisor.done():
            self._supervisor.result()
        return stopping.result()

    async def close(self) -> None:
        """Kills every child and the zygote."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        if self._rest is not None:
            self._rest.end()
        for zygote in (self._zygote, *self._retired):
            if zygote is not None:
                zygote.end()
        self._drop_spares()

    def forget_recycled(self) -> None:
        """Ends every child that waits to serve again."""
        self._recycled.clear()

    async def run(
        self, call: Call, tenant: str, patience: float, packaged: bytes = b""
    ) -> tuple[Outcome, float]:
        """The outcome of one call, and the seconds for which it waited for a place.

        `patience` is the number of seconds in which the caller needs the answer. `packaged` is the hash of a script
        that we trust; empty for any other script.
        """
        wait = min(patience, self._settings.queue_wait)
        began = time.monotonic()
        if self.problem and self._proven is None:
            raise NotReady(self.problem)
        key = self._key(call, tenant, packaged)
        self._disturb()
        async with self._queue.place(tenant, wait):
            try:
                return await self._attempt(call, tenant, key, began, wait, patience)
            except BrokenChild as problem:
                # A script is a pure function of its object: running it again cannot do harm.
                # Take a child that is forked from now on: the cause that ended this child may have killed all waiting
                # children.
                _log.warning("call repeated", extra={"problem": str(problem)})
                spent = time.monotonic() - began
                left = max(0.0, patience - spent)
                again = time.monotonic()
                return await self._attempt(call, tenant, key, again, wait, left, newborn=True)
            finally:
                self._disturb()

    def _key(self, call: Call, tenant: str, packaged: bytes) -> Key | None:
        """The key under which a child of this call may serve again; None if it may not."""
        if Layer.SINGLE_USE in self._settings.without:
            return Key("", b"", Limits(0, 0, 0, 0))
        # The process keeps its bounds, so unusual ones get a child of their own.
        if packaged and call.limits == self._usual:
            return Key(tenant, packaged, call.limits)
        return None

    async def _attempt(
        self,
        call: Call,
        tenant: str,
        key: Key | None,
        began: float,
        wait: float,
        patience: float,
        *,
        newborn: bool = False,
    ) -> tuple[Outcome, float]:
        child = self._recycled.take(key) if key is not None and not newborn else None
        if child is not None:
            self._metrics.recycled.inc()
        else:
            seconds = max(0.01, wait - (time.monotonic() - began))
            child = await (self._newborn(seconds) if newborn else self._take(seconds))
        waited = time.monotonic() - began
        demotion = self._watch(child, call, tenant, staged=key is None)
        returns = False
        try:
            outcome = await self._converse(child, call, key, patience - waited)
            returns = key is not None and self._may_return(outcome, child)
        finally:
            demotion.stop()
            self._heavy_tenants.note(tenant, heavy=demotion.over)
            now = asyncio.get_running_loop().time()
            if not (returns and key is not None and self._recycled.offer(key, child, now)):
                self._end(child)
        return outcome, waited

    def _watch(self, child: Child, call: Call, tenant: str, *, staged: bool) -> Demotion:
        after = self._settings.demote_after + len(call.object_json) * self._settings.demote_per_byte
        heavy = self._heavy_tenants.is_heavy(tenant)
        return Demotion(child, after, self._metrics.demotions.inc, staged=staged, heavy=heavy)

    async def _converse(self, child: Child, call: Call, key: Key | None, left: float) -> Outcome:
        """The call; it is ended when its caller stops waiting."""
        child.served += 1
        limits = call.limits
        cut = left * 1000 < limits.wall_ms
        if cut:
            limits = limits._replace(wall_ms=max(1, int(left * 1000)))
        outcome = await converse(
            child,
            call._replace(limits=limits, again=key is not None),
            self._settings.kill_margin,
            self._settings.without,
            self._library,
        )
        if cut and outcome.code is Code.TIMEOUT and outcome.reason in _BY_THE_CLOCK:
            raise TooLate(f"the caller's deadline passed after {limits.wall_ms} ms of the script")
        return outcome

    def _may_return(self, outcome: Outcome, child: Child) -> bool:
        """A child is used again only if it answered without an error and was not demoted."""
        if Layer.SINGLE_USE in self._settings.without:
            return child.alive
        current = self._zygote is not None and child.zygote == self._zygote.pid
        return outcome.code is Code.OK and current and not child.demoted

    def _end(self, child: Child) -> None:
        if child.killed_for:
            self._metrics.child_killed(child.killed_for)
        child.discard()
        asyncio.get_running_loop().call_soon(self._replenish)

    async def _take(self, seconds: float) -> Child:
        """A ready child; waits for a new one if there is none."""
        while self._spares:
            child = self._spares.popleft()
            if child.alive:
                return child
            child.discard()
        return await self._newborn(seconds)

    async def _newborn(self, seconds: float) -> Child:
        """The next child that the zygote forks."""
        wanted: asyncio.Future[Child] = asyncio.get_running_loop().create_future()
        self._wanted.append(wanted)
        self._replenish()
        try:
            async with asyncio.timeout(seconds):
                return await wanted
        except BaseException as gone:
            if wanted.done() and not wanted.cancelled():
                # It came at the moment when its caller had been cancelled.
                self._spares.append(wanted.result())
            elif wanted in self._wanted:
                self._wanted.remove(wanted)
            if not isinstance(gone, TimeoutError):
                raise
            if self.problem:
                raise NotReady(self.problem) from None
            raise Overloaded(f"no child became ready within {seconds * 1000:.0f} ms") from None

    def _replenish(self) -> None:
        zygote = self._zygote
        if zygote is not None and zygote.alive:
            target = self._wanted_spares + len(self._wanted)
            zygote.fork(target - len(self._spares) - zygote.pending)

    @property
    def _wanted_spares(self) -> int:
        """The number of spare children that there should be."""
        resting = self._rest is not None and self._rest.resting
        return self._settings.spares_at_rest if resting else self._settings.spares

    def _disturb(self) -> None:
        if self._rest is not None:
            self._rest.disturb()

    def _let_go(self, since: float) -> None:
        """Ends children that have waited for calls for too long."""
        self._recycled.let_go(since)
        while len(self._spares) > self._wanted_spares:
            self._spares.pop().discard()
        self._replenish()

    def _child_arrived(self, zygote: Zygote, child: Child) -> None:
        child.exited.add_done_callback(lambda _exit: self._child_ended(zygote, child))
        self._metrics.spawn_seconds.observe(child.spawn_seconds)
        if zygote.retiring:
            child.discard()
            return
        while self._wanted:
            wanted = self._wanted.popleft()
            if not wanted.done():
                wanted.set_result(child)
                return
        self._spares.append(child)

    def _child_ended(self, zygote: Zygote, child: Child) -> None:
        self._metrics.child_ended(child.exited.result().status)
        self._recycled.forget(child)
        if child in self._spares:
            self._spares.remove(child)
            child.discard()
            self._replenish()
        if zygote.retiring and not zygote.children:
            zygote.end()

    def _drop_spares(self) -> None:
        while self._spares:
            self._spares.popleft().discard()
        self._recycled.clear()

    # ------------------------------------------------------------------ the zygote

    async def _supervise(self, first: asyncio.Event) -> None:
        """Keeps one good zygote: starts it, replaces it when it dies or has served its time."""
        failures = 0
        while True:
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
            began = time.monotonic()
            self._lost.clear()
            try:
                await self._renew()
            except (NotReady, OSError) as problem:
                failures += 1
                self._set_problem(str(problem))
                _log.error("sandbox not ready", extra={"problem": str(problem)})
                first.set()
                continue
            first.set()
            await self._until_renewal()
            steady = time.monotonic() - began > _STEADY_SECONDS
            failures = 0 if steady or not self._lost.is_set() else failures + 1
            if self._lost.is_set():
                self._metrics.zygote_restarts.inc()
                self._set_problem("the zygote died and is being replaced")
                _log.error("zygote lost")

    async def _until_renewal(self) -> None:
        """Returns when the zygote died, or when it is old enough to be replaced."""
        deadline = time.monotonic() + self._settings.recycle_seconds
        while time.monotonic() < deadline:
            zygote = self._zygote
            if zygote is not None and zygote.forks >= self._settings.recycle_forks:
                return
            if zygote is not None and zygote.stuck:
                zygote.end()
            try:
                async with asyncio.timeout(min(_LOOK_SECONDS, self._settings.recycle_seconds)):
                    await self._lost.wait()
                    return
            except TimeoutError:
                continue

    async def _renew(self) -> None:
        """Replace the zygote by a new one that has passed the self-test; the old zygote ends with its last call."""
        fresh: asyncio.Queue[Child] = asyncio.Queue()
        settled = False

        def arrived(zygote: Zygote, child: Child) -> None:
            if settled:
                self._child_arrived(zygote, child)
            else:
                fresh.put_nowait(child)

        zygote = await Zygote.start(
            without=self._settings.without, on_child=arrived, on_end=self._zygote_ended
        )

        async def take_child() -> Child:
            zygote.fork(1)
            return await fresh.get()

        try:
            async with asyncio.timeout(_SELFTEST_SECONDS):
                verdict = await prove(
                    take_child, without=self._settings.without, complete=self._proven is None
                )
        except (TimeoutError, BrokenChild) as problem:
            verdict = Verdict((), f"self-test of the sandbox failed: {str(problem) or 'no answer'}")
        except (asyncio.CancelledError, OSError):
            zygote.end()
            raise
        if verdict.problem:
            zygote.end()
            raise NotReady(verdict.problem)
        settled = True
        self._install(zygote, verdict)

    def _install(self, zygote: Zygote, verdict: Verdict) -> None:
        old = self._zygote
        self._zygote = zygote
        self._metrics.zygote_starts.inc()
        if self._proven is None:
            self._metrics.proven(verdict.proven, zygote.landlock)
        self._proven = verdict
        if old is not None and old.alive:
            old.retiring = True
            self._retired.add(old)
            self._drop_spares()
            if not old.children:
                old.end()
        self._set_problem("")
        self._replenish()

    def _zygote_ended(self, zygote: Zygote) -> None:
        self._retired.discard(zygote)
        if zygote is self._zygote:
            self._drop_spares()
            self._lost.set()

    def _set_problem(self, problem: str) -> None:
        self.problem = problem
        self._on_ready(not problem)
