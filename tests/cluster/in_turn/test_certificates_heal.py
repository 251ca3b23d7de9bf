"""Two replicas share certificates in a Secret: a deleted, emptied or replaced certificate is restored at once.

No write is refused in the meantime, because the API server always has the authority of each served certificate.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest

from controller.api.names import (
    GROUP,
    MUTATING_CONFIGURATION,
    VALIDATING_CONFIGURATION,
    WEBHOOK_SECRET,
)
from controller.certificates.authority import AUTHORITY_LIFETIME, issue, issued_by, new_authority
from controller.certificates.rotation import Bundle
from controller.certificates.secret import (
    CA_CERT,
    CA_KEY,
    CHANGED_AT,
    NEXT_CERT,
    NEXT_KEY,
    OLD_CERT,
    data_of,
)
from controller.kube.client import KubeClient
from controller.webhook.stores import KubeSecrets
from demo.stage import NAMESPACE
from localcluster.api import JsonObject
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from tests.cluster.conftest import fresh_namespace
from tests.cluster.replicas import Replicas, replicas
from tests.component.certificates.unfit import unfit_authorities
from tests.node.writes import Writes, writing

SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/{WEBHOOK_SECRET}"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = (
    f"{REGISTRATION}/mutatingwebhookconfigurations/{MUTATING_CONFIGURATION}",
    f"{REGISTRATION}/validatingwebhookconfigurations/{VALIDATING_CONFIGURATION}",
)
CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rollouts.{GROUP}"
SOME = 30
"""Writes before and after."""
HEALED_SECONDS = 60.0
LOOK_SECONDS = 0.1

Json = JsonObject

FOLLOWING = new_authority(datetime.now(UTC))
UNUSABLE = {
    **{
        case: {CA_CERT: unfit.certificate, CA_KEY: unfit.key}
        for case, unfit in unfit_authorities(datetime.now(UTC)).items()
    },
    "a time without a zone": {
        NEXT_CERT: FOLLOWING.certificate,
        NEXT_KEY: FOLLOWING.key,
        CHANGED_AT: b"2026-01-01T00:00:00",
    },
}
"""Entries of the Secret."""


@pytest.fixture(scope="module")
async def pair(ground: Plane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Replicas]:
    """Two controllers."""
    async with replicas(ground, tmp_path_factory.mktemp("replicas")) as running:
        yield running


@pytest.fixture
async def writes(pair: Replicas) -> AsyncIterator[Writes]:
    """Writes of Rollouts that admission checks, twenty a second."""
    async with (
        fresh_namespace(pair.plane) as namespace,
        writing(pair.plane.client("developer"), namespace) as running,
    ):
        await running.reach(SOME)
        yield running


async def secret(pair: Replicas) -> dict[str, bytes]:
    """The Secret's data; nothing if there is none."""
    try:
        found = await pair.plane.client().get(SECRET)
    except RequestRefused as refused:
        if refused.status != 404:
            raise
        return {}
    return {key: base64.b64decode(value) for key, value in found.get("data", {}).items()}


async def put_secret(pair: Replicas, bundle: Bundle) -> None:
    """Replace the Secret's data."""
    found = await pair.plane.client().get(SECRET)
    data = {key: base64.b64encode(value).decode() for key, value in data_of(bundle).items()}
    await pair.plane.client().replace(SECRET, {**found, "data": data})


async def until(pair: Replicas, holds: Callable[[dict[str, bytes]], bool]) -> dict[str, bytes]:
    """The Secret's data, as soon as they satisfy the condition."""
    async with asyncio.timeout(HEALED_SECONDS):
        while not holds(data := await secret(pair)):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    return data


def clients(obj: Json) -> list[Json]:
    """Every client configuration of a webhook configuration, or of the CRD."""
    if "webhooks" in obj:
        return [entry["clientConfig"] for entry in obj["webhooks"]]
    return [obj["spec"]["conversion"]["webhook"]["clientConfig"]]


async def published(pair: Replicas, path: str) -> list[Json]:
    return clients(await pair.plane.client().get(path))


async def trusting(pair: Replicas, authority: bytes) -> None:
    """Return when all published configurations contain this authority."""
    async with asyncio.timeout(HEALED_SECONDS):
        for path in (*CONFIGURATIONS, CRD):
            while not all(authority in trusted(one) for one in await published(pair, path)):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)


def trusted(client: Json) -> bytes:
    return base64.b64decode(client.get("caBundle", ""))


async def test_a_deleted_secret_comes_back_with_the_same_authority_and_a_second_one_to_follow(
    pair: Replicas, writes: Writes
) -> None:
    before = await secret(pair)
    await pair.plane.client().delete(SECRET)
    after = await until(pair, lambda data: NEXT_CERT in data)
    assert after[CA_CERT] == before[CA_CERT]
    await trusting(pair, after[NEXT_CERT])
    await writes.reach(SOME)
    assert writes.refused == []


async def test_an_expired_authority_in_the_secret_is_replaced_by_the_one_that_is_in_use(
    pair: Replicas, writes: Writes
) -> None:
    before, long_ago = await secret(pair), datetime.now(UTC) - AUTHORITY_LIFETIME
    authority = new_authority(long_ago - timedelta(days=1))
    await put_secret(pair, Bundle(authority, issue(authority, ["127.0.0.1"], long_ago)))
    await until(pair, lambda data: data.get(CA_CERT) == before[CA_CERT])
    await writes.reach(SOME)
    assert writes.refused == []


@pytest.mark.parametrize("case", UNUSABLE)
async def test_what_cannot_be_used_in_the_secret_ends_no_replica_and_is_replaced(
    pair: Replicas, writes: Writes, case: str
) -> None:
    found = await pair.plane.client().get(SECRET)
    before = await secret(pair)
    data = {key: base64.b64encode(value).decode() for key, value in UNUSABLE[case].items()}
    await pair.plane.client().replace(SECRET, {**found, "data": {**found["data"], **data}})
    await until(pair, lambda data: not UNUSABLE[case].items() <= data.items())
    await writes.reach(SOME)
    assert writes.refused == []
    assert (await secret(pair))[CA_CERT] == before[CA_CERT]
    assert all(replica.component.running for replica in pair.members)


async def test_a_secret_that_another_tool_made_can_be_written(
    ground: Plane, pair: Replicas
) -> None:
    """The API server refuses a write with another type, as `Opaque` in place of `kubernetes.io/tls`."""
    client, name = ground.client(), "made-by-a-tool"
    data = {"tls.crt": "", "tls.key": ""}
    body = {"metadata": {"name": name}, "type": "kubernetes.io/tls", "data": data}
    made = await client.create(SECRET.rpartition("/")[0], body)
    kube = await KubeClient.connect(
        kubeconfig=str(ground.layout.kubeconfig("admin")), user_agent="tests"
    )
    try:
        version = made["metadata"]["resourceVersion"]
        wanted = {"tls.crt": b"c", "tls.key": b"k", "ca.crt": b"a"}
        store = KubeSecrets(kube, NAMESPACE)
        await store.replace(name, wanted, version)
        seen = await store.read(name)
    finally:
        await kube.aclose()
    assert seen is not None
    assert seen.data == wanted


async def test_another_authority_that_somebody_puts_in_is_served_and_the_old_one_stays_trusted(
    pair: Replicas, writes: Writes
) -> None:
    before, now = await secret(pair), datetime.now(UTC)
    authority = new_authority(now)
    await put_secret(pair, Bundle(authority, issue(authority, ["127.0.0.1"], now)))
    after = await until(pair, lambda data: OLD_CERT in data)
    assert after[OLD_CERT] == before[CA_CERT]
    assert after[CA_CERT] == authority.certificate
    async with asyncio.timeout(HEALED_SECONDS):
        for replica in pair.members:
            while not issued_by(replica.served.read_bytes(), authority.certificate):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
    await trusting(pair, authority.certificate)
    await writes.reach(SOME)
    assert writes.refused == []


@pytest.mark.parametrize("path", [*CONFIGURATIONS, CRD], ids=lambda path: path.rpartition("/")[2])
async def test_a_blanked_authority_is_published_again(pair: Replicas, path: str) -> None:
    client = pair.plane.client()
    before = await client.get(path)
    blank = await client.get(path)
    for one in clients(blank):
        one.pop("caBundle")
    await client.replace(path, blank)
    async with asyncio.timeout(HEALED_SECONDS):
        while (after := await published(pair, path)) != clients(before):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    assert all(one["caBundle"] for one in after)


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.rpartition("/")[2])
async def test_a_configuration_that_is_replaced_by_its_manifest_is_ours_again(
    pair: Replicas, path: str
) -> None:
    client = pair.plane.client()
    before = await client.get(path)
    (manifest,) = [
        doc
        for doc in pair.product.manifests
        if doc["metadata"]["name"] == before["metadata"]["name"] and "webhooks" in doc
    ]
    version = {"resourceVersion": before["metadata"]["resourceVersion"]}
    await client.replace(path, {**manifest, "metadata": {**manifest["metadata"], **version}})
    async with asyncio.timeout(HEALED_SECONDS):
        while (after := await client.get(path))["webhooks"] != before["webhooks"]:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
