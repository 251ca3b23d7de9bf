"""`notify test` as a person runs it: a real worker runs the script, and a real HTTP receiver takes the event."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from click.testing import CliRunner, Result

from controller.api.notification import Topic
from controller.cli.main import cli
from tests.component.cli.double import cluster
from tests.serving import served

KINDS = "/apis/rollouts.kruise.io/v1alpha1"
VALUE = "the-value-of-the-token"
REASONS = {
    Topic.STARTED: "ReleaseStarted",
    Topic.WAITS_FOR_APPROVAL: "WaitsForApproval",
    Topic.STALLED: "ProgressDeadlineExceeded",
    Topic.GATE_FAILED: "AnalysisFailed",
    Topic.ROLLED_BACK: "ReleaseCanceled",
    Topic.FINISHED: "ReleaseCompleted",
    Topic.DRIFT_HELD: "RouteHeld",
}


@dataclass(slots=True)
class Receiver:
    """A server that takes events, or refuses them."""

    address: str = ""
    status: int = 204
    taken: list[tuple[str | None, dict[str, Any]]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Remember the event and its token."""
        self.taken.append((request.headers.get("Authorization"), json.loads(await request.text())))
        return web.Response(status=self.status)


@contextlib.asynccontextmanager
async def receiving(status: int = 204) -> AsyncIterator[Receiver]:
    """The receiver, listening."""
    made = Receiver(status=status)
    async with served(made.handle) as made.address:
        yield made


def notification(
    address: str, *, kind: str = "Notification", name: str = "ci", **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "script": "webhook",
            "params": {"address": address},
            "secrets": {"token": {"name": "ci", "key": "token"}},
            **spec,
        },
    }


def secret(send_to: str = "127.0.0.1") -> dict[str, Any]:
    data = {"token": base64.b64encode(VALUE.encode()).decode()}
    metadata = {"name": "ci", "annotations": {"moonshift.dev/send-to": send_to}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def written(directory: Path, *objects: dict[str, Any]) -> str:
    path = directory / "notification.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


async def notify_test(*arguments: str) -> Result:
    """Run it in a thread of its own: it has its own event loop."""
    runner = CliRunner(env={"COLUMNS": "200", "KUBECONFIG": "/no/such/kubeconfig"})
    return await asyncio.to_thread(runner.invoke, cli, ["notify", "test", *arguments])


async def test_the_request_is_shown_without_the_secret_and_nothing_is_sent(tmp_path: Path) -> None:
    async with receiving() as receiver:
        file = written(tmp_path, notification(receiver.address), secret())
        ran = await notify_test("ci", "-f", file, "-n", "shop")
    assert ran.exit_code == 0, ran.output
    assert "Authorization: Bearer ${token}" in ran.output
    assert f"url: {receiver.address}" in ran.output
    assert "next: kubectl moonshift approve web -n shop" in ran.output
    assert "no; --send sends it from this machine" in ran.output
    assert VALUE not in ran.output
    assert not receiver.taken


async def test_a_request_is_shown_though_its_secret_is_unknown(tmp_path: Path) -> None:
    ran = await notify_test("ci", "-f", written(tmp_path, notification("http://127.0.0.1:1")))
    assert ran.exit_code == 0, ran.output
    assert "${token}" in ran.output


@pytest.mark.parametrize("topic", list(Topic))
async def test_a_sample_of_every_event_is_sent_with_the_secret(
    tmp_path: Path, topic: Topic
) -> None:
    async with receiving() as receiver:
        link = "https://shown.example.com/{{ namespace }}/{{ rollout }}"
        sent = notification(receiver.address, events=[topic.value], link=link)
        file = written(tmp_path, sent, secret())
        ran = await notify_test(
            "ci", "-f", file, "-n", "shop", "--event", topic.value, "--send", "-o", "json"
        )
    assert ran.exit_code == 0, ran.output
    ((token, event),) = receiver.taken
    assert token == f"Bearer {VALUE}"
    assert (event["reason"], event["namespace"]) == (REASONS[topic], "shop")
    assert event["message"].endswith("(a sample of notify test)")
    assert event["link"] == "https://shown.example.com/shop/web"
    shown = json.loads(ran.stdout)
    assert (shown["sent"], shown["chosen"], shown["event"]) == (True, True, event)
    assert [one["json"] for one in shown["requests"]] == [event]
    assert VALUE not in ran.output


async def test_a_target_that_does_not_take_it_is_a_failure(tmp_path: Path) -> None:
    async with receiving(403) as receiver:
        file = written(tmp_path, notification(receiver.address), secret())
        refused = await notify_test("ci", "-f", file, "--send")
        receiver.status = 503
        busy = await notify_test("ci", "-f", file, "--send", "-o", "json")
    assert (refused.exit_code, busy.exit_code) == (1, 1)
    assert "failed:  target webhook:" in refused.output
    assert "403" in refused.output
    assert json.loads(busy.stdout)["problem"].startswith("it is to be sent again later: ")
    assert len(receiver.taken) == 2


async def test_a_secret_is_sent_only_to_the_hosts_that_it_names(tmp_path: Path) -> None:
    async with receiving() as receiver:
        file = written(tmp_path, notification(receiver.address), secret("other.example"))
        ran = await notify_test("ci", "-f", file, "--send")
    assert ran.exit_code == 1
    assert "Secret default/ci names other hosts than 127.0.0.1" in " ".join(ran.output.split())
    assert not receiver.taken


async def test_an_event_that_is_not_chosen_says_so(tmp_path: Path) -> None:
    file = written(tmp_path, notification("http://127.0.0.1:1", events=["Finished"]))
    ran = await notify_test("ci", "-f", file)
    assert "event:   WaitsForApproval, which spec.events does not choose" in ran.output


@pytest.mark.parametrize(
    ("spec", "name", "words"),
    [
        ({"script": "webhok"}, "ci", "no script for target webhok"),
        ({"params": {}}, "ci", "the script needs the parameter address"),
        ({"events": ["Everything"]}, "ci", "Notification ci would be refused: "),
        ({}, "other", "Notification other is not among the files, which have Notification ci"),
        ({}, "clusternotification/ci", "ClusterNotification ci is not among the files"),
        ({}, "rollout/ci", "write NAME for a Notification, or clusternotification/NAME"),
        ({}, "/ci", "write NAME for a Notification, or clusternotification/NAME"),
    ],
)
async def test_a_mistake_is_told_in_words(
    tmp_path: Path, spec: dict[str, Any], name: str, words: str
) -> None:
    ran = await notify_test(
        name, "-f", written(tmp_path, notification("http://127.0.0.1:1", **spec))
    )
    assert ran.exit_code == 1
    assert words in " ".join(f"{ran.output} {ran.exception}".split())


async def test_a_secret_that_the_files_lack_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, notification("http://127.0.0.1:1"))
    ran = await notify_test("ci", "-f", file, "--send")
    assert ran.exit_code == 1
    assert "Secret default/ci is not among the files: give its manifest with -f, too" in ran.output


async def test_a_notification_of_the_cluster_is_read_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path) as api, receiving() as receiver:
        stored = notification(receiver.address)
        stored["metadata"]["namespace"] = "default"
        api.collections[f"{KINDS}/namespaces/default/notifications"] = [stored]
        api.collections["/api/v1/namespaces/default/secrets"] = [secret()]
        shown = await api.run("notify", "test", "ci")
        asked = [request.path for request in api.server.requests]
        sent = await api.run("notify", "test", "ci", "--send")
    assert (shown.exit_code, sent.exit_code) == (0, 0), shown.output + sent.output
    assert not any("secrets" in path for path in asked)
    assert [token for token, _ in receiver.taken] == [f"Bearer {VALUE}"]
    assert {request.method for request in api.server.requests} == {"GET"}


async def test_a_cluster_notification_uses_the_controllers_namespace(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api, receiving() as receiver:
        stored = notification(
            receiver.address, kind="ClusterNotification", script="own", namespaces=["shop"]
        )
        api.collections[f"{KINDS}/clusternotifications"] = [stored]
        home = "/api/v1/namespaces/kruise-rollout"
        api.collections[f"{home}/secrets"] = [secret()]
        api.collections[f"{home}/configmaps"] = [own_scripts()]
        ran = await api.run("notify", "test", "clusternotification/ci", "--send")
    assert ran.exit_code == 0, ran.output
    assert receiver.taken == [(f"Bearer {VALUE}", {"place": "shop"})]


async def test_a_notification_that_the_cluster_lacks_is_one_line(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        api.collections[f"{KINDS}/namespaces/default/notifications"] = []
        ran = await api.run("notify", "test", "ci")
    assert ran.exit_code == 1
    assert "not found" in f"{ran.output} {ran.exception}"


OWN = """--@does target
--@asks http
--@secrets token
--@params address
if obj.answers then return {sent = true} end
return {ask = {{method = "POST", url = obj.params.address, json = {place = obj.event.namespace},
    headers = {Authorization = "Bearer " .. obj.secrets.token}}}}
"""


def own_scripts(name: str = "kruise-rollout-configuration") -> dict[str, Any]:
    data = {"lua.target.own": OWN}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.mark.parametrize("of_the_namespace", [False, True])
async def test_a_script_of_the_files_is_used(tmp_path: Path, of_the_namespace: bool) -> None:
    ref: dict[str, Any] = {"scriptRef": {"name": "scripts", "serviceAccountName": "teller"}}
    async with receiving() as receiver:
        own = notification(receiver.address, script="own", **(ref if of_the_namespace else {}))
        scripts = own_scripts("scripts") if of_the_namespace else own_scripts()
        file = written(tmp_path, own, scripts, secret())
        ran = await notify_test("ci", "-f", file, "-n", "shop", "--send")
    assert ran.exit_code == 0, ran.output
    assert receiver.taken == [(f"Bearer {VALUE}", {"place": "shop"})]
    assert "sent:    yes, the target accepted it" in ran.output
