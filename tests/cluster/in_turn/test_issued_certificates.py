"""Webhooks with a certificate that somebody else issues, on a real API server: no write is refused at any change of it.

The test writes the Secret as cert-manager does: data in the layout of `kubernetes.io/tls`, with `ca.crt`.
"""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
import yaml

from controller.certificates.authority import (
    CERTIFICATE_LIFETIME,
    Pair,
    issue,
    issued_by,
    new_authority,
)
from controller.certificates.issued import EARLIER
from demo.stage import NAMESPACE, ROOT
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from tests.cluster.conftest import fresh_namespace
from tests.cluster.replicas import Replicas, replicas
from tests.component.certificates.unfit import renewed
from tests.node.writes import Writes, writing

NAME = "moonshift-webhook-tls"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
ROLE = ROOT / "deploy" / "kustomize" / "cert-manager" / "role.yaml"
SOME = 30
"""Writes before and after."""
LIMIT_SECONDS = 60.0
LOOK_SECONDS = 0.1


@pytest.fixture(scope="module")
async def pair(ground: Plane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Replicas]:
    """Give two controllers with a flag that names a Secret which does not exist yet."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await ground.apply(yaml.safe_dump(space), server_side=True)
    await ground.kubectl("apply", "-f", str(ROLE))
    folder = tmp_path_factory.mktemp("replicas")
    async with replicas(ground, folder, f"--webhook-issued-secret={NAME}") as running:
        yield running


@pytest.fixture
async def writes(pair: Replicas) -> AsyncIterator[Writes]:
    """Give writes of Rollouts that admission judges, twenty a second; the Secret does not exist yet."""
    with contextlib.suppress(RequestRefused):
        await pair.plane.client().delete(f"{SECRETS}/{NAME}")
    async with asyncio.timeout(LIMIT_SECONDS):
        while f"Secret {NAME}: it does not exist" not in await readiness(pair):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    async with (
        fresh_namespace(pair.plane) as namespace,
        writing(pair.plane.client("developer"), namespace) as running,
    ):
        await running.reach(SOME)
        yield running


async def issue_to(
    pair: Replicas, authority: Pair, begins: datetime | None = None, root: bytes = b""
) -> bytes:
    """Write the Secret, with another `ca.crt` if one is given; the certificate."""
    made = issue(authority, ["127.0.0.1"], begins or datetime.now(UTC))
    data = {
        "tls.crt": made.certificate,
        "tls.key": made.key,
        "ca.crt": root or authority.certificate,
    }
    body = {
        "metadata": {"name": NAME},
        "type": "kubernetes.io/tls",
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }
    client = pair.plane.client()
    try:
        await client.create(SECRETS, body)
    except RequestRefused as refused:
        if refused.status != 409:
            raise
        await client.replace(f"{SECRETS}/{NAME}", body)
    return made.certificate


async def served_by_both(pair: Replicas, authority: Pair) -> None:
    """Return when both replicas have a certificate of this authority to serve."""
    async with asyncio.timeout(LIMIT_SECONDS):
        for replica in pair.members:
            while not issued_by(replica.served.read_bytes(), authority.certificate):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)


async def readiness(pair: Replicas) -> str:
    """The text of the first replica's readiness."""
    address = f"http://127.0.0.1:{pair.members[0].probes_port}/readyz?verbose"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        assert answer.status == 200
        return await answer.text()


async def test_an_issued_certificate_is_served_while_it_exists_and_is_valid(
    pair: Replicas, writes: Writes
) -> None:
    """Moonshift's certificate, the issued one, one of another authority, an expired one: each change under load."""
    first, second = new_authority(datetime.now(UTC)), new_authority(datetime.now(UTC))

    issued = await issue_to(pair, first)
    await served_by_both(pair, first)
    await writes.reach(SOME)
    assert NAME not in await readiness(pair)
    assert pair.members[0].served.read_bytes() == issued

    await issue_to(pair, second)
    await served_by_both(pair, second)
    await writes.reach(SOME)

    await issue_to(pair, second, datetime.now(UTC) - timedelta(days=400))
    async with asyncio.timeout(LIMIT_SECONDS):
        while "holds from" not in await readiness(pair):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    await writes.reach(SOME)

    renewed = await issue_to(pair, second)
    await served_by_both(pair, second)
    await writes.reach(SOME)
    assert pair.members[0].served.read_bytes() == renewed
    assert writes.refused == []


async def test_a_certificate_whose_authority_has_ended_is_not_served(
    pair: Replicas, writes: Writes
) -> None:
    """As after the renewal of an authority with its old key: API servers check the end of `ca.crt`, too."""
    now = datetime.now(UTC)
    root = new_authority(now)
    ended = renewed(root, now - timedelta(hours=1))
    issued = await issue_to(pair, root, root=ended)
    async with asyncio.timeout(LIMIT_SECONDS):
        while "with its chain and its ca.crt" not in await readiness(pair):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    await writes.reach(SOME)
    assert pair.members[0].served.read_bytes() != issued
    assert writes.refused == []


@pytest.mark.full
async def test_a_certificate_that_nobody_renews_is_given_up_before_its_end(
    pair: Replicas, writes: Writes
) -> None:
    authority = new_authority(datetime.now(UTC) - timedelta(days=400))
    end = datetime.now(UTC) + EARLIER + timedelta(seconds=8)
    issued = await issue_to(pair, authority, end - CERTIFICATE_LIFETIME)
    await served_by_both(pair, authority)
    async with asyncio.timeout_at(asyncio.get_running_loop().time() + EARLIER.total_seconds()):
        for replica in pair.members:
            while replica.served.read_bytes() == issued:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
    assert datetime.now(UTC) < end
    while datetime.now(UTC) < end:
        await writes.reach(SOME)
    await writes.reach(SOME)
    assert writes.refused == []
