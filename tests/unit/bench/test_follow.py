"""The follower of a measurement survives a kind whose storage is initialized, and waits for no watch that has ended."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from localcluster.api import ApiClient
from localcluster.errors import NotReady, RequestRefused
from tests.bench.follow import Follower, Key, View

PATH = "/apis/rollouts.kruise.io/v1beta1/rollouts"
INITIALIZING = {"code": 429, "message": "storage is (re)initializing"}
FORBIDDEN = {"code": 403, "message": "no right to watch"}
GONE = {"code": 410, "message": "too old resource version"}
WEB = Key("shop", "web")


class Answers(ApiClient):
    """An API server that answers each watch of one kind with the next of these lines, and then no more."""

    def __init__(
        self, *watches: Mapping[str, object] | int, later: Sequence[Mapping[str, object]] = ()
    ) -> None:
        self._watches = iter(watches)
        self._lists = iter(((), later))

    async def text(self, path: str) -> str:
        return json.dumps({"metadata": {"resourceVersion": "1"}, "items": next(self._lists)})

    @asynccontextmanager
    async def stream(
        self, path: str, parameters: dict[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        answer = next(self._watches, None)
        if isinstance(answer, int):
            raise RequestRefused(answer, "refused")
        yield _lines(answer)


async def _lines(answer: Mapping[str, object] | None) -> AsyncIterator[bytes]:
    if answer is None:
        await asyncio.Event().wait()
    yield json.dumps(answer).encode()


def healthy(view: View | None) -> bool:
    return view is not None and view.status.phase == "Healthy"


WEB_IS_HEALTHY: dict[str, Any] = {
    "type": "ADDED",
    "object": {
        "metadata": {"namespace": "shop", "name": "web", "resourceVersion": "2"},
        "status": {"phase": "Healthy"},
    },
}


@pytest.mark.parametrize("refused", [429, 404, {"type": "ERROR", "object": INITIALIZING}])
async def test_a_watch_begins_again_while_the_storage_of_its_kind_is_initialized(
    refused: Mapping[str, object] | int,
) -> None:
    async with Follower.start(Answers(refused, WEB_IS_HEALTHY), PATH) as follower:
        await follower.until(WEB, healthy)
        assert healthy(follower.get(WEB))


async def test_objects_are_listed_again_if_their_storage_knows_no_former_version() -> None:
    error = {"type": "ERROR", "object": GONE}
    answers = Answers(error, later=[WEB_IS_HEALTHY["object"]])
    async with Follower.start(answers, PATH) as follower:
        await follower.until(WEB, healthy)
        assert healthy(follower.get(WEB))


async def test_nobody_waits_for_a_watch_that_has_ended_for_good() -> None:
    error = {"type": "ERROR", "object": FORBIDDEN}
    async with Follower.start(Answers(error), PATH) as follower:
        with pytest.raises(NotReady, match="no right to watch"):
            await follower.until(WEB, healthy)
        with pytest.raises(NotReady, match="no right to watch"):
            await follower.until(WEB, healthy)
