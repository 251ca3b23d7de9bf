"""Asking scripts whether the gateways took their objects: once for each version, and only where somebody reports."""

import json

import msgspec
import pytest

from controller.domain import reasons
from controller.domain.decision import Done, NotYet, Reference, Refusal
from controller.domain.decision.taken import Asked, NotAsked, NotTakenYet, RefusedByGateway, Taken
from controller.effects.gateways.confirming import Confirmation, Verdicts
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.script_outcome import Refused
from tests.component.effects.gateways.world import (
    NAMESPACE,
    Object,
    ObjectServer,
    Scripts,
    plan,
    references,
)

KIND = "VirtualService"
CHUNK = "taken of VirtualService"


class Chunks(Scripts):
    """Scripts with a second chunk, which is the function `CHUNK`."""

    def resolve(self, reference: Reference) -> Script | MissingScript:
        found = super().resolve(reference)
        if isinstance(found, MissingScript):
            return found
        chunk = Script(CHUNK, b"", "chunk", "packaged")
        return msgspec.structs.replace(found, taken=chunk)


class Stage:
    """One object with a status, and the chunk's answer about it."""

    def __init__(self, answer: object, status: object = None) -> None:
        self.server, self.scripts, self.verdicts = ObjectServer(), Chunks(), Verdicts()
        self.scripts.add(KIND, lambda obj: obj["data"])
        self.scripts.add(CHUNK, answer if isinstance(answer, Refused) else lambda obj: answer)
        self.plan = plan(references((KIND, "web")))
        self.reference = self.plan.references[0]
        self.server.put(KIND, self.reference.name, {"http": []})
        if status is not None:
            self.object["status"] = status
        self.confirmation = Confirmation(self.server, self.scripts, self.scripts, self.verdicts)

    @property
    def object(self) -> Object:
        return self.server.objects[KIND, self.reference.name]

    @property
    def verdict(self) -> Asked:
        version = self.object["metadata"]["resourceVersion"]
        return self.verdicts.about(self.reference, NAMESPACE, version, "chunk")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"taken": True}, Taken()),
        ({"wait": "Contour"}, NotTakenYet("Contour")),
        ({"refused": "no\nport"}, RefusedByGateway("no port")),
    ],
)
async def test_a_verdict_is_remembered_for_this_version_of_the_object(
    answer: object, verdict: Asked
) -> None:
    stage = Stage(answer, {"state": "x"})
    assert stage.verdict == NotAsked()
    assert isinstance(await stage.confirmation.confirm(stage.plan), NotYet)
    assert stage.verdict == verdict
    assert await stage.confirmation.confirm(stage.plan) == Done()
    assert len(stage.scripts.asked) == 1
    assert stage.scripts.asked[0]["status"] == {"state": "x"}
    stage.object["metadata"]["resourceVersion"] = "999"
    assert stage.verdict == NotAsked()
    assert stage.server.writes == []


async def test_an_object_without_a_status_is_not_asked_about() -> None:
    stage = Stage({"taken": True})
    assert await stage.confirmation.confirm(stage.plan) == Done()
    assert stage.scripts.asked == []


@pytest.mark.parametrize("answer", [{}, {"taken": False}, {"refused": ""}, {"wait": 1}, []])
async def test_another_answer_is_refused_in_words(answer: object) -> None:
    stage = Stage(answer, {"state": "x"})
    found = await stage.confirmation.confirm(stage.plan)
    assert isinstance(found, Refusal)
    assert found.reason == reasons.SCRIPT_ANSWER_REFUSED
    assert "{taken = true}" in found.message
    assert stage.verdict == NotAsked()


async def test_a_failing_chunk_and_a_missing_worker_are_refusals() -> None:
    failing = Stage(Refused("RUNTIME_ERROR", "boom", line=3), {"state": "x"})
    found = await failing.confirmation.confirm(failing.plan)
    assert isinstance(found, Refusal)
    assert found.reason == reasons.SCRIPT_FAILED
    away = Stage({"taken": True}, {"state": "x"})
    away.scripts.available = False
    found = await away.confirmation.confirm(away.plan)
    assert isinstance(found, Refusal)
    assert found.reason == reasons.WORKER_UNAVAILABLE


async def test_an_object_that_is_gone_or_that_may_not_be_read() -> None:
    stage = Stage({"taken": True}, {"state": "x"})
    stage.server.forbidden.add(("get", KIND))
    found = await stage.confirmation.confirm(stage.plan)
    assert isinstance(found, Refusal)
    stage.server.forbidden.clear()
    stage.server.objects.clear()
    assert await stage.confirmation.confirm(stage.plan) == Done()
    assert json.dumps(stage.scripts.asked) == "[]"
