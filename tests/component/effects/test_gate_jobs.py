"""Jobs of gates on the in-memory API server: one a measurement, found again, waited for, taken away."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
import pytest

from controller.api.analysis import JobQuery, Metric
from controller.api.meta import Key
from controller.api.names import MEASUREMENT
from controller.domain.decision import Measure
from controller.domain.gates import jobs
from controller.effects.gate_jobs import GateJobs
from controller.kube.resources import JOBS, ROLLOUTS
from controller.outbound.fetching import Failed
from controller.outbound.job import FinishedJob
from tests.component.effects.api_double import NAMESPACE, ApiDouble, Object

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = Key(NAMESPACE, "web")
SPEC = {"template": {"spec": {"containers": [{"name": "main", "image": "smoke:1"}]}}}


def asked(seconds: int = 600, until: datetime | None = None, **spec: object) -> Measure:
    query = JobQuery(msgspec.Raw(msgspec.json.encode(SPEC | spec)), seconds)
    return Measure("1@x", 1, Metric(name="smoke", job=query), until=until)


NAME = jobs.job_name(KEY, asked())


class Created(ApiDouble):
    """Says when a Job was created, and when it is watched."""

    def __init__(self) -> None:
        super().__init__()
        self.made = asyncio.Event()
        self.put(ROLLOUTS, {"metadata": {"name": "web", "uid": "uid-web"}})

    async def create(self, *args: object, **options: object) -> bytes:
        """Create, and say so."""
        answer = await super().create(*args, **options)  # type: ignore[arg-type] # as given
        self.made.set()
        return answer

    def ends(self, condition: str, reason: str = "", message: str = "") -> None:
        """The Job controller writes the end."""
        fields = {"type": condition, "status": "True", "reason": reason, "message": message}
        body = self.one(JOBS, NAME)
        self.put(JOBS, {**body, "status": {"conditions": [fields]}})
        self._wake()

    @property
    def there(self) -> list[Object]:
        """Every Job."""
        return [body for _, body in self.storage.all(("batch", "jobs"))]


def running(api: ApiDouble) -> GateJobs:
    return GateJobs(api, lambda: NOW, Random(1))


async def test_a_job_that_succeeds_is_a_good_value_and_goes() -> None:
    api = Created()
    going = asyncio.create_task(running(api).run(KEY, asked()))
    await api.made.wait()
    (made,) = api.there
    assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-web"
    assert made["spec"]["template"] == SPEC["template"]
    api.ends("Complete")
    assert await going == FinishedJob(True, f"Job {NAME} succeeded")
    assert api.there == []


async def test_a_job_that_fails_stays_for_its_log() -> None:
    api = Created()
    going = asyncio.create_task(running(api).run(KEY, asked()))
    await api.made.wait()
    api.ends("Failed", "BackoffLimitExceeded", "too often")
    assert await going == FinishedJob(False, f"Job {NAME} failed: BackoffLimitExceeded: too often")
    assert [job["metadata"]["name"] for job in api.there] == [NAME]


async def test_a_controller_that_takes_over_finds_the_job() -> None:
    api = Created()
    first = asyncio.create_task(running(api).run(KEY, asked()))
    await api.made.wait()
    first.cancel()
    await asyncio.wait((first,))
    assert len(api.there) == 1
    api.ends("Complete")
    assert (await running(api).run(KEY, asked())).succeeded
    assert [write for write in api.writes if write.startswith("create")] == [f"create {NAME}"]


async def test_a_job_that_never_ends_is_taken_away_when_its_time_is_over() -> None:
    api = Created()
    until = NOW - timedelta(seconds=5)
    with pytest.raises(Failed, match="did not end within 1 s"):
        await running(api).run(KEY, asked(until=until))
    assert api.there == []


async def test_the_job_controllers_deadline_is_ours_or_the_owners() -> None:
    for own, fails in ((900, True), (30, False)):
        api = Created()
        wanted = asked(activeDeadlineSeconds=own)
        going = asyncio.create_task(running(api).run(KEY, wanted))
        await api.made.wait()
        api.ends("Failed", jobs.DEADLINE_EXCEEDED, "active longer than its deadline")
        if fails:
            with pytest.raises(Failed, match="did not end within 600 s"):
                await going
        else:
            assert not (await going).succeeded


async def test_a_strangers_job_is_left_alone() -> None:
    api = Created()
    api.put(JOBS, {"metadata": {"name": NAME, "annotations": {MEASUREMENT: "another"}}})
    with pytest.raises(Failed, match="not of this gate"):
        await running(api).run(KEY, asked())
    await running(api).drop(KEY, asked())
    assert len(api.there) == 1


@pytest.mark.parametrize("verb", ["create", "watch"])
async def test_a_missing_right_is_reported(verb: str) -> None:
    api = Created()
    api.forbidden.add((verb, "jobs"))
    with pytest.raises(Failed, match=f"cannot {verb} resource"):
        await running(api).run(KEY, asked())


async def test_a_job_that_somebody_deletes_is_an_error() -> None:
    api = Created()
    going = asyncio.create_task(running(api).run(KEY, asked()))
    await api.made.wait()
    await api.delete(JOBS, NAMESPACE, NAME)
    with pytest.raises(Failed, match=r"deleted before its end|is gone"):
        await going


async def test_a_watch_that_ends_is_begun_again() -> None:
    api = Created()
    going = asyncio.create_task(running(api).run(KEY, asked()))
    await api.made.wait()
    api.close_watches()
    api.ends("Complete")
    assert (await going).succeeded


async def test_dropping_a_missing_entry_is_no_error() -> None:
    api = Created()
    await running(api).drop(KEY, asked())
    api.forbidden.add(("get", "jobs"))
    await running(api).drop(KEY, asked())
    assert api.writes == []
