"""Ten thousand Rollouts at rest, and a hundred thousand pods.

Why the cluster is frozen: its controllers would take an hour for so many pods, and the measured program only reads
objects. Invariant: no row is projected; every size is on the control plane. It must not judge more than its rows say.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from localcluster.progress import Reporter
from tests.bench import objects
from tests.bench.fleet import each, healthy, wait
from tests.bench.follow import Key
from tests.bench.ground import Ground
from tests.bench.objects import CORE
from tests.bench.registry import Row
from tests.bench.requests import LEASES, ours_since
from tests.bench.scale.resting import application
from tests.bench.scale.storage import Stored, put
from tests.bench.scale.watched import Late, WatchedProduct, watched_ground

FROZEN = ("kube-controller-manager", "kube-scheduler", "kwok")
IN_A_NAMESPACE = 100
HEALTHY_SECONDS = 900.0
MINUTE = 60.0
CALM_SECONDS = 5.0
CALM_CPU = 0.1
"""Share of a second: at rest the controller uses less CPU, including its ticks."""
MEGABYTE, KILOBYTE = 1e6, 1e3


@dataclass(frozen=True, slots=True)
class Size:
    """The number of Rollouts, and the pods of each."""

    rollouts: int
    pods_each: int

    @property
    def pods(self) -> int:
        """Of all Rollouts."""
        return self.rollouts * self.pods_each

    def __str__(self) -> str:
        return f"{self.rollouts} Rollouts, {self.pods} pods"


@dataclass(frozen=True, slots=True)
class Rest:
    """The resources that a freshly started controller uses at one size."""

    size: Size
    controller: int
    worker: int
    highest: int
    synced_seconds: float
    start_cpu: float
    start_late: Late
    calm_cpu: float
    requests: int
    minute_requests: int
    minute_cpu: float
    minute_late: Late
    first_cpu: float
    first_late: Late
    """While the controller saw the Rollouts for the first time and wrote their status."""


PODS = 10
SIZES = (Size(1_000, 1), Size(10_000, 1), Size(10_000, PODS))


async def measure(folder: Path, reporter: Reporter, sizes: tuple[Size, ...] = SIZES) -> list[Row]:
    """Every size, the smallest first."""
    async with watched_ground(folder, reporter) as ground:
        for name in FROZEN:
            await ground.plane.components[name].stop()
        product = _product(ground)
        await _restarted(ground)
        await product.collect()
        empty = product.controller.resource_use().pss_bytes
        rests = [await _at(ground, size) for size in sizes]
    return [*_rows(rests), *_slopes(empty, rests)]


def _product(ground: Ground) -> WatchedProduct:
    assert isinstance(ground.product, WatchedProduct)
    return ground.product


async def _at(ground: Ground, size: Size) -> Rest:
    """Make the objects, let the controller see them, start it again, and watch it rest."""
    product = _product(ground)
    mark, before = product.mark(), product.controller.resource_use().cpu_seconds
    with ground.reporter.phase(f"{size}: make the objects"):
        await _make(ground, size)
    with ground.reporter.phase(f"{size}: until all are Healthy"):
        await wait(ground, list(_keys(size)), healthy, HEALTHY_SECONDS)
        await _calm(product)
    first_cpu = product.controller.resource_use().cpu_seconds - before
    first_late, log = product.late(mark), ground.plane.audit
    mark, cursor = product.mark(), log.mark()
    with ground.reporter.phase(f"{size}: start anew"):
        synced, start_cpu = await _restarted(ground)
        calm = await _calm(product)
    start_late, asked = product.late(mark), ours_since(log, cursor)
    highest = _highest(product.controller.pid)
    await product.collect()
    mark, cursor = product.mark(), log.mark()
    before = product.controller.resource_use().cpu_seconds
    with ground.reporter.phase(f"{size}: a minute at rest"):
        await asyncio.sleep(MINUTE)
    use = product.controller.resource_use()
    return Rest(
        size=size,
        controller=use.pss_bytes,
        worker=product.worker.resource_use().pss_bytes,
        highest=highest,
        synced_seconds=synced,
        start_cpu=start_cpu,
        start_late=start_late,
        calm_cpu=calm,
        requests=sum(record.is_write and record.resource != LEASES for record in asked),
        minute_requests=len(ours_since(log, cursor)),
        minute_cpu=use.cpu_seconds - before,
        minute_late=product.late(mark),
        first_cpu=first_cpu,
        first_late=first_late,
    )


def _keys(size: Size) -> Iterator[Key]:
    for number in range(size.rollouts):
        yield Key(f"idle-{number // IN_A_NAMESPACE:03}", objects.application_name(number))


async def _make(ground: Ground, size: Size) -> None:
    known = await ground.admin.get(f"{CORE}/namespaces")
    names = {item["metadata"]["name"] for item in known["items"]}
    missing = {key.namespace for key in _keys(size)} - names
    await each(
        ground.admin.create(f"{CORE}/namespaces", {"metadata": {"name": name}})
        for name in sorted(missing)
    )
    await put(ground.plane.layout.etcd_url, _objects(ground, size))


def _objects(ground: Ground, size: Size) -> Iterator[Stored]:
    """All objects of new Rollouts; an existing Rollout keeps the controller's status and labels."""
    for key in _keys(size):
        there = ground.rollouts.get(key) is not None
        for one in application(key.namespace, key.name, size.pods_each):
            if not (there and one.body["kind"] in ("Rollout", "VirtualService", "Service")):
                yield one


async def _restarted(ground: Ground) -> tuple[float, float]:
    """Seconds and CPU seconds from the start of the process to its first pass: caches filled, Lease taken."""
    product = _product(ground)
    await product.controller.terminate()
    begun = datetime.now().astimezone()
    await product.controller.start()
    async with asyncio.timeout(HEALTHY_SECONDS):
        while (logged := product.last_logged("reconciling")) is None or logged < begun:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return (logged - begun).total_seconds(), product.controller.resource_use().cpu_seconds


async def _calm(product: WatchedProduct) -> float:
    """Return when the controller has had nothing to do for some seconds; its CPU seconds since its start."""
    async with asyncio.timeout(HEALTHY_SECONDS):
        while True:
            before = product.controller.resource_use().cpu_seconds
            await asyncio.sleep(CALM_SECONDS)
            now = product.controller.resource_use().cpu_seconds
            if now - before <= CALM_CPU * CALM_SECONDS:
                return now


def _highest(pid: int) -> int:
    """The most resident memory of a process since its start."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


def _rows(rests: list[Rest]) -> Iterator[Row]:
    for rest in rests:
        size = str(rest.size)
        controller, worker = rest.controller / MEGABYTE, rest.worker / MEGABYTE
        start = f"CPU {rest.start_cpu:.1f} s until then, {rest.calm_cpu:.1f} s until nothing was left to do"
        asked, cpu = rest.minute_requests, f"controller's CPU {rest.minute_cpu:.2f} s"
        memory = f"highest {rest.highest / MEGABYTE:.0f} MB; worker {worker:.0f} MB"
        first = f"{rest.first_late}; CPU {rest.first_cpu:.0f} s"
        late = f"{size}: event loop late, p99"
        yield Row(f"{size}: requests in a minute", "-", 0, asked, "", cpu)
        yield Row(f"{size}: writes after a start", "-", 0, rest.requests, "")
        yield Row(f"{size}: start to the first pass", "-", 60, rest.synced_seconds, "s", start)
        yield Row(f"{size}: controller's memory", "-", 1000, controller, "MB", memory)
        for when, seen in (("at rest", rest.minute_late), ("during the start", rest.start_late)):
            yield Row(f"{late} {when}", "-", 50, seen.own, "ms", str(seen))
        yield Row(
            f"{late} when it first sees the Rollouts", "-", 50, rest.first_late.own, "ms", first
        )


def _slopes(empty: int, rests: list[Rest]) -> Iterator[Row]:
    """The memory at rest that one more Rollout (with one pod) and one more pod add."""
    small, many, pods = rests
    per_rollout = (many.controller - small.controller) / (many.size.rollouts - small.size.rollouts)
    per_pod = (pods.controller - many.controller) / (pods.size.pods - many.size.pods)
    with_it = "with its Deployment, ReplicaSet, Service, slice, VirtualService and one pod"
    note = f"{with_it}; {empty / MEGABYTE:.0f} MB without any"
    yield Row("memory of one additional Rollout", "-", 50, per_rollout / KILOBYTE, "kB", note)
    yield Row("memory of one additional pod", "-", 5, per_pod / KILOBYTE, "kB")
