"""The packaged check of another service's Rollout: found in the library, run by the real worker, shown its object."""

import json
from collections.abc import Iterable

import pytest

from controller.domain.decision import OwnScript
from controller.domain.exchange.answer import Does, FailedCheck, Held, Passed
from controller.domain.exchange.turn_input import Question
from controller.domain.traffic.tree import Tree
from controller.effects.asking_scripts import KubeAskingScripts
from controller.errors import NotFound, Right
from controller.kube.resources import Resource
from controller.outbound.exchanging import Call, Exchanging
from controller.outbound.script_runs import Wanted
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.worker_client import ScriptClient
from tests.component.luaworker.process import worker
from tests.component.outbound.asking import LIBRARY, NOW
from tests.component.outbound.pages import fetching


class NoRights:
    """Nobody has a right: a script of the installation has no account."""

    async def may(self, right: Right) -> bool:
        """Never."""
        return False


class Stored:
    """Rollouts of the namespace `shop`."""

    def __init__(self, rollouts: Iterable[Tree]) -> None:
        self._rollouts = {self._name(rollout): rollout for rollout in rollouts}

    @staticmethod
    def _name(rollout: Tree) -> str:
        metadata = rollout["metadata"]
        assert isinstance(metadata, dict)
        return str(metadata["name"])

    async def served(self, api_version: str, kind: str) -> Resource | None:
        """Nothing is looked up."""
        raise AssertionError(api_version, kind)

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """A Rollout of the namespace."""
        if (resource.kind, namespace) != ("Rollout", "shop") or name not in self._rollouts:
            raise NotFound(f"{name} not found", status=404)
        return json.dumps(self._rollouts[name]).encode()


def found(does: str, name: str, own: OwnScript | None) -> Script | MissingScript:
    return LIBRARY.resolve_asking(does, name, None)


def rollout(name: str, phase: str, observed: int = 3) -> Tree:
    return {
        "metadata": {"name": name, "namespace": "shop", "generation": 3},
        "status": {"phase": phase, "observedGeneration": observed},
    }


@pytest.mark.asyncio
async def test_the_check_waits_for_the_rollout_of_another_service(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    address = f"unix://{tmp_path_factory.mktemp('seen')}/w"
    stored = Stored(
        (
            rollout("done", "Healthy"),
            rollout("going", "Progressing"),
            rollout("unseen", "Healthy", observed=2),
        )
    )
    async with worker(address, "--cpu-ms", "1000"), fetching() as client_of_gates:
        client = ScriptClient(address, deadline=30)
        scripts = KubeAskingScripts(found, client, NoRights(), stored)
        exchanging = Exchanging(client_of_gates, scripts, lambda: NOW)
        ends = {}
        try:
            for namespace, name in (
                ("shop", "done"),
                ("shop", "going"),
                ("shop", "unseen"),
                ("shop", "none"),
                ("other", "done"),
            ):
                wanted = Wanted(Does.CHECK, "rollout-of-another-service", namespace)
                outcome = await exchanging.called(
                    Call(wanted, Question({"rollout": name}, "id-1"), {})
                )
                ends[namespace, name] = outcome.ended
        finally:
            await client.close()
    assert ends == {
        ("shop", "done"): Passed("Rollout done is Healthy"),
        ("shop", "going"): Held("Rollout going is Progressing", 15),
        ("shop", "unseen"): Held("Rollout unseen is Healthy", 15),
        ("shop", "none"): FailedCheck("there is no Rollout none"),
        ("other", "done"): FailedCheck("there is no Rollout done"),
    }
