"""Jobs of metric gates: creates them, waits for their end, and deletes them.

Invariant: one Job for each measurement, found again by its name after a restart. A watch on this one Job shows its end;
there is no polling. A Job that succeeded is deleted at once, one that exceeds its time is deleted and counts as an
error, one that failed stays for its log (`ttlSecondsAfterFinished`). Every other problem is reported in the API
server's words, with the right to grant.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from random import Random
from typing import Protocol

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.api.names import MEASUREMENT
from controller.domain.decision import Measure
from controller.domain.gates import jobs
from controller.domain.gates.jobs import Ended, JobStatus
from controller.domain.missing_rights import with_remedy
from controller.domain.traffic.companions.claims_of_tools import inherited
from controller.errors import (
    AlreadyExists,
    ApiError,
    Forbidden,
    Gone,
    MoonshiftError,
    NotFound,
    ServerFault,
    Throttled,
    Unreachable,
)
from controller.kube.resources import JOBS, ROLLOUTS
from controller.kube.verbs import Creates, Deletes, Gets, Watches
from controller.kube.watch import read_event
from controller.outbound.fetching import Failed
from controller.outbound.job import FinishedJob
from controller.runtime.backoff import Backoff

SOONEST, LATEST = 0.5, 15.0
"""Seconds until a watch that broke is begun again."""
_PASSING = (Gone, ServerFault, Throttled, Unreachable)
_log = logging.getLogger(__name__)


class Client(Gets, Creates, Deletes, Watches, Protocol):
    """The verbs that are needed; `KubeClient` has them."""


class _Rollout(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Job(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    status: JobStatus = JobStatus()


class GateJobs:
    """Jobs of the gates of all Rollouts."""

    def __init__(self, client: Client, now: Callable[[], datetime], random: Random) -> None:
        self._client = client
        self._now = now
        self._random = random

    async def run(self, key: Key, asked: Measure) -> FinishedJob:
        """Make the Job of this measurement, or find it, and wait for its end. Raises `Failed`."""
        query = asked.metric.job
        assert query is not None
        seconds = jobs.seconds_left(query, asked, self._now())
        with _as_failed_measurement():
            try:
                async with asyncio.timeout(seconds):
                    end = await self._end_of(await self._begun(key, asked, seconds))
            except TimeoutError:
                end = None
        name = jobs.job_name(key, asked)
        if end is None or _ran_out(end, asked, seconds):
            await self.drop(key, asked)
            raise Failed(f"Job {name} did not end within {seconds} s")
        if end.succeeded:
            await self.drop(key, asked)
            return FinishedJob(True, f"Job {name} succeeded")
        return FinishedJob(False, f"Job {name} failed: {end.why}")

    async def drop(self, key: Key, asked: Measure) -> None:
        """Delete the Job of this measurement. Raises nothing."""
        name = jobs.job_name(key, asked)
        try:
            job = await self._read(key.namespace, name)
            if _is_ours(job, key, asked):
                await self._client.delete(JOBS, key.namespace, name, uid=job.metadata.uid)
        except NotFound:
            return
        except MoonshiftError as failure:
            _log.warning(
                "a Job stays", extra={"job": f"{key.namespace}/{name}", "why": f"{failure}"}
            )

    async def _begun(self, key: Key, asked: Measure, seconds: int) -> _Job:
        """The present Job: created now, or by the controller that measured before this one."""
        query = asked.metric.job
        assert query is not None
        rollout = msgspec.json.decode(
            await self._client.get(ROLLOUTS, key.namespace, key.name), type=_Rollout
        )
        labels = inherited(rollout.metadata.labels)
        owner = msgspec.structs.replace(rollout.metadata, labels=labels)
        body = jobs.made(owner, asked, jobs.tree(query), seconds)
        try:
            raw = await self._client.create(JOBS, key.namespace, msgspec.json.encode(body))
        except AlreadyExists as exists:
            found = await self._read(key.namespace, jobs.job_name(key, asked))
            if not _is_ours(found, key, asked):
                name = found.metadata.name
                raise Failed(f"Job {name} is there and is not of this gate: delete it") from exists
            return found
        return msgspec.json.decode(raw, type=_Job)

    async def _end_of(self, job: _Job) -> Ended:
        """How the Job ended, as soon as it has."""
        backoff = Backoff(SOONEST, LATEST, self._random)
        meta = job.metadata
        while True:
            end = jobs.ended(job.status)
            if end is not None:
                return end
            try:
                end = await self._watched(job)
            except _PASSING as failure:
                _log.info(
                    "a watch of a Job broke", extra={"job": str(meta.key), "why": f"{failure}"}
                )
                await asyncio.sleep(backoff.next())
            if end is not None:
                return end
            job = await self._read(meta.namespace, meta.name)

    async def _watched(self, job: _Job) -> Ended | None:
        """How the Job ended; None when the watch ended before. Raises `Failed` if the Job was deleted."""
        meta = job.metadata
        only = f"metadata.name={meta.name}"
        async with self._client.watch(
            JOBS, meta.namespace, meta.resource_version, field_selector=only
        ) as lines:
            async for line in lines:
                event = read_event(line)
                if event.type == "DELETED":
                    raise Failed(f"Job {meta.name} was deleted before its end")
                if event.type in ("ADDED", "MODIFIED"):
                    end = jobs.ended(msgspec.json.decode(event.object, type=_Job).status)
                    if end is not None:
                        return end
                elif event.type == "ERROR":
                    return None
        return None

    async def _read(self, namespace: str, name: str) -> _Job:
        return msgspec.json.decode(await self._client.get(JOBS, namespace, name), type=_Job)


def _ran_out(end: Ended, asked: Measure, seconds: int) -> bool:
    """The Job was ended by the time that the gate gives, not by its own, shorter `activeDeadlineSeconds`."""
    query = asked.metric.job
    assert query is not None
    own = jobs.tree(query).get("activeDeadlineSeconds")
    shorter = isinstance(own, int) and own < seconds
    return end.reason == jobs.DEADLINE_EXCEEDED and not shorter


def _is_ours(job: _Job, key: Key, asked: Measure) -> bool:
    return job.metadata.annotations.get(MEASUREMENT) == jobs.measurement_name(key, asked)


@contextlib.contextmanager
def _as_failed_measurement() -> Iterator[None]:
    """Failures of the API server as failures of the measurement."""
    try:
        yield
    except Forbidden as refused:
        raise Failed(with_remedy(refused.message)) from refused
    except NotFound as missing:
        raise Failed(f"the Job is gone: {missing}") from missing
    except ApiError as refused:
        raise Failed(f"the Job was refused: {refused}") from refused
    except MoonshiftError as failure:
        raise Failed(f"the Job cannot be run: {failure}") from failure
