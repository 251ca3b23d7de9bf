"""A script of a namespace uses Secrets and sees objects with its ServiceAccount's rights; others see Rollouts."""

import json
from collections.abc import Callable

import pytest

from controller.domain.decision import OwnScript
from controller.domain.exchange.answer import Does
from controller.domain.exchange.request import ObjectRequest
from controller.effects.asking_scripts import KubeAskingScripts
from controller.errors import NotFound, Right, WorkerUnavailable
from controller.kube.resources import ROLLOUTS, SERVICES, Resource
from controller.outbound.fetching import Failed
from controller.outbound.script_runs import Wanted
from controller.scripts.lookup import MissingScript, Script, ScriptLibrary
from controller.scripts.script_outcome import Executed, Refused, ScriptAnswer

LIBRARY = ScriptLibrary({"source/a.lua": b"--@does source\nreturn {}"})
OWN = OwnScript("shop", "scripts", "asker", "")
OURS = Wanted(Does.SOURCE, "a", "shop")
THEIRS = Wanted(Does.SOURCE, "a", "shop", OWN)
WEB = ObjectRequest("v1", "Service", "web")
BETA = "rollouts.kruise.io/v1beta1"
STORED = {
    "apiVersion": BETA,
    "kind": "Rollout",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "generation": 3,
        "uid": "1",
        "annotations": {"token": "t"},
        "labels": {"team": "a"},
        "managedFields": [{}],
    },
    "spec": {"disabled": False},
    "status": {"phase": "Healthy"},
    "more": 1,
}


class Rights:
    """The rights that are there; each question is remembered."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[Right] = []

    async def may(self, right: Right) -> bool:
        """Whether the resource is among the allowed ones."""
        self.asked.append(right)
        return right.resource in self.allowed


class Objects:
    """One Service, and one Rollout; each read is remembered."""

    def __init__(self, rollout: bytes = b"") -> None:
        self._rollout = rollout or json.dumps(STORED).encode()
        self.read: list[tuple[str, str, str]] = []

    async def served(self, api_version: str, kind: str) -> Resource | None:
        """Services are served."""
        return SERVICES if kind == "Service" else None

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """The object, or none."""
        self.read.append((resource.kind, namespace, name))
        if name != "web":
            raise NotFound(f"{name} not found", status=404)
        return self._rollout if resource == ROLLOUTS else b'{"kind":"Service"}'


class Runner:
    """A worker with one answer."""

    def __init__(self, answer: ScriptAnswer | None) -> None:
        self._answer = answer

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """The answer, or no worker."""
        if self._answer is None:
            raise WorkerUnavailable("no worker")
        return self._answer


def found(does: str, name: str, own: OwnScript | None) -> Script | MissingScript:
    if own is not None:
        return LIBRARY.resolve_own_asking(own, does, name, {"lua.source.a": "return {}"})
    return LIBRARY.resolve_asking(does, name, None)


def scripts(*allowed: str, answer: ScriptAnswer | None = None) -> tuple[KubeAskingScripts, Rights]:
    rights = Rights(*allowed)
    return KubeAskingScripts(found, Runner(answer), rights, Objects()), rights


async def test_a_secret_needs_the_right_of_the_account() -> None:
    allowed, rights = scripts("secrets")
    await allowed.may_use(THEIRS, ["dd"])
    assert rights.asked == [Right("get", "", "secrets", "", "shop", "dd", "shop/asker")]
    refused, _ = scripts()
    with pytest.raises(Failed, match="ServiceAccount shop/asker may not get secrets dd"):
        await refused.may_use(THEIRS, ["dd"])


async def test_a_script_of_the_installation_needs_no_account_for_a_secret() -> None:
    ours, rights = scripts()
    await ours.may_use(OURS, ["dd"])
    assert rights.asked == []


async def test_an_object_needs_the_right_of_the_account() -> None:
    allowed, _ = scripts("services")
    assert await allowed.object(THEIRS, WEB) == {"kind": "Service"}
    assert await allowed.object(THEIRS, ObjectRequest("v1", "Service", "other")) is None
    for script, asked, words in (
        (THEIRS, WEB, "may not get services web"),
        (THEIRS, ObjectRequest("v1", "Moon", "web"), "no kind of namespaces is v1 Moon"),
    ):
        refused, _ = scripts()
        with pytest.raises(Failed, match=words):
            await refused.object(script, asked)


def installed(rollout: bytes = b"") -> tuple[KubeAskingScripts, Objects, Rights]:
    objects, rights = Objects(rollout), Rights("services", "rollouts")
    return KubeAskingScripts(found, Runner(None), rights, objects), objects, rights


async def test_a_script_of_the_installation_sees_the_state_of_a_rollout_and_nothing_beside_it() -> (
    None
):
    ours, objects, rights = installed()
    assert await ours.object(OURS, ObjectRequest(BETA, "Rollout", "web")) == {
        "apiVersion": BETA,
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "shop", "generation": 3},
        "spec": {"disabled": False},
        "status": {"phase": "Healthy"},
    }
    assert await ours.object(OURS, ObjectRequest(BETA, "Rollout", "other")) is None
    assert objects.read == [("Rollout", "shop", "web"), ("Rollout", "shop", "other")]
    assert rights.asked == []


@pytest.mark.parametrize(
    "asked",
    [
        WEB,
        ObjectRequest("v1", "Secret", "web"),
        ObjectRequest(BETA, "BatchRelease", "web"),
        ObjectRequest("rollouts.kruise.io/v1alpha1", "Rollout", "web"),
        ObjectRequest("argoproj.io/v1alpha1", "Rollout", "web"),
        ObjectRequest("v1beta1", "Rollout", "web"),
    ],
    ids=str,
)
async def test_a_script_of_the_installation_sees_no_other_kind(asked: ObjectRequest) -> None:
    ours, objects, _ = installed()
    with pytest.raises(Failed, match=r"may get rollouts.kruise.io/v1beta1 Rollout, and no other"):
        await ours.object(OURS, asked)
    assert objects.read == []


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (b"{}", {}),
        (b'{"metadata":[],"status":{}}', {"status": {}}),
    ],
)
async def test_what_is_missing_in_a_rollout_is_not_shown(
    stored: bytes, shown: dict[str, object]
) -> None:
    ours, _, _ = installed(stored)
    found = await ours.object(OURS, ObjectRequest(BETA, "Rollout", "web"))
    assert found == {"apiVersion": BETA, "kind": "Rollout", "metadata": {}, **shown}


async def test_a_rollout_that_cannot_be_read_is_no_answer() -> None:
    ours, _, _ = installed(b"[]")
    with pytest.raises(Failed, match="cannot be read: a JSON object was expected"):
        await ours.object(OURS, ObjectRequest(BETA, "Rollout", "web"))


async def test_a_script_is_run_and_its_errors_have_its_line() -> None:
    good, _ = scripts(answer=Executed(b"{}"))
    assert await good.find(OURS).run(b"{}", tenant="shop", request_id="1") == b"{}"
    assert good.find(OURS).header.does == "source"
    bad, _ = scripts(answer=Refused("RUNTIME_ERROR", "source/a.lua:2: no", line=2))
    with pytest.raises(Failed, match=r"^no \(source/a.lua:2\)$"):
        await bad.find(OURS).run(b"{}", tenant="shop", request_id="1")
    lost, _ = scripts()
    with pytest.raises(Failed, match="no worker"):
        await lost.find(OURS).run(b"{}", tenant="shop", request_id="1")


@pytest.mark.parametrize(
    ("resolved", "text"),
    [
        (lambda: LIBRARY.resolve_asking("source", "a", None), b"--@does source\nreturn {}"),
        (lambda: LIBRARY.resolve_asking("source", "a", {"lua.source.a": "own"}), b"own"),
        (lambda: LIBRARY.resolve_own_asking(OWN, "source", "a", {"lua.source.a": "x"}), b"x"),
    ],
)
def test_the_nearest_script_is_used(
    resolved: Callable[[], Script | MissingScript], text: bytes
) -> None:
    script = resolved()
    assert isinstance(script, Script)
    assert script.text == text


async def test_a_missing_script_is_told_with_its_places() -> None:
    some, _ = scripts()
    with pytest.raises(Failed, match=r"neither packaged as source/b.lua nor in key lua.source.b"):
        some.find(Wanted(Does.SOURCE, "b", "shop"))
    with pytest.raises(Failed, match=r"key lua.source.b of ConfigMap shop/scripts"):
        some.find(Wanted(Does.SOURCE, "b", "shop", OWN))
