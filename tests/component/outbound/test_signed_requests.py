"""Packaged sources whose requests are signed, against real HTTP servers that prove the signature themselves."""

import base64
import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from yarl import URL

from controller.domain.exchange.answer import SourceValue
from controller.outbound.signing import Signed, aws
from tests.component.luaworker.process import worker
from tests.component.outbound.asking import NOW, asking, page
from tests.component.outbound.pages import Secrets

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOURCES = Path(__file__).parents[3] / "lua_configuration" / "source"
AT = int(NOW.timestamp())
KEYS = {"accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "a-key-of-the-test"}
RSA = rsa.generate_private_key(65537, 2048)


def packaged(name: str, place: str) -> str:
    """A packaged source that asks the server of the test, and has no window of a gate."""
    text = (SOURCES / f"{name}.lua").read_text()
    return (
        text.replace("--@asks https", "--@asks http")
        .replace("--@params ", "--@params address, ")
        .replace(place, "obj.params.address .. ")
        .replace("obj.params.address .. /", 'obj.params.address .. "/')
        .replace("obj.window.from", "(obj.now - 300)")
        .replace("obj.window.to", "obj.now")
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """One worker for all of these tests."""
    address = f"unix://{tmp_path_factory.mktemp('signed')}/w"
    async with worker(address, "--cpu-ms", "1000"):
        yield address


@pytest.mark.parametrize(("key", "value"), [("a-key-of-the-test", 0.4), ("another", None)])
async def test_cloudwatch_is_asked_with_a_signature_that_the_server_proves(
    running: str, key: str, value: float | None
) -> None:
    async def cloudwatch(request: web.Request) -> web.Response:
        own = ("Content-Type", "X-Amz-Target")
        sent = {name: request.headers[name] for name in own}
        asked = Signed("POST", URL(str(request.url)), sent, await request.read())
        proof = aws(asked, KEYS, "monitoring", "eu-central-1", AT)
        if request.headers["Authorization"] != proof["Authorization"]:
            return web.json_response({"__type": "InvalidSignatureException"}, status=403)
        return web.json_response({"MetricDataResults": [{"Id": "q", "Values": [0.4]}]})

    text = packaged(
        "cloudwatch", '"https://monitoring." .. obj.params.region .. ".amazonaws.com/"'
    ).replace("obj.params.address .. ", 'obj.params.address .. "/"')
    secrets = Secrets(vendor={**KEYS, "secretAccessKey": key})
    async with asking(running, text, cloudwatch, secrets=secrets) as script:
        asked = script.outcome({"region": "eu-central-1", "query": "q"}, secrets=tuple(KEYS))
        if value is None:
            with pytest.raises(Exception, match="CloudWatch answered 403"):
                await asked
        else:
            assert (await asked).ended == SourceValue(value, 1)
        assert not any(key.encode() in sent for sent in script.runner.sent)


async def test_google_grants_a_token_for_a_signed_assertion_and_it_is_asked_for_once(
    running: str,
) -> None:
    asked: list[str] = []

    async def google(request: web.Request) -> web.Response:
        asked.append(request.path)
        if request.path != "/token":
            assert request.headers["Authorization"] == "Bearer granted-token"
            found = [{"metric": {}, "value": [AT, "0.5"]}]
            return web.json_response(
                {"status": "success", "data": {"resultType": "vector", "result": found}}
            )
        proof = str((await request.post())["assertion"])
        text, _, signature = proof.rpartition(".")
        raw = base64.urlsafe_b64decode(signature + "==")
        RSA.public_key().verify(raw, text.encode(), padding.PKCS1v15(), hashes.SHA256())
        claims = json.loads(base64.urlsafe_b64decode(text.partition(".")[2] + "=="))
        assert (claims["iss"], claims["iat"], claims["exp"]) == ("me@p", AT, AT + 600)
        assert claims["scope"] == "https://www.googleapis.com/auth/monitoring.read"
        return web.json_response({"access_token": "granted-token", "expires_in": 3600})

    text = packaged("google-monitoring", '"https://monitoring.googleapis.com')
    key = RSA.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    vendor: dict[str, str] = {}
    secrets = Secrets(vendor=vendor)
    async with asking(running, text, google, secrets=secrets) as script:
        file = {"client_email": "me@p", "private_key": key}
        file["token_uri"] = f"{script.pages.address}/token"
        vendor["serviceAccount"] = json.dumps(file)
        for _ in range(2):
            found = await script.outcome(
                {"project": "p", "query": "up"}, secrets=("serviceAccount",)
            )
            assert found.ended == SourceValue(0.5)
        assert not any(b"PRIVATE KEY" in sent for sent in script.runner.sent)
    place = "/v1/projects/p/location/global/prometheus/api/v1/query"
    assert asked == ["/token", place, place]


async def test_an_account_of_google_chooses_no_server_of_tokens_that_is_not_allowed(
    running: str,
) -> None:
    key = RSA.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    file = {"client_email": "me@p", "private_key": key, "token_uri": "http://other.test/token"}
    text = packaged("google-monitoring", '"https://monitoring.googleapis.com')
    secrets = Secrets(vendor={"serviceAccount": json.dumps(file)})
    async with asking(running, text, page("{}"), secrets=secrets) as script:
        with pytest.raises(Exception, match=r"http://other.test is not among the addresses"):
            await script.outcome({"project": "p", "query": "up"}, secrets=("serviceAccount",))
        assert script.pages.asked == []


@pytest.mark.parametrize(
    ("header", "refused"), [("X-Signature-256", ""), ("Host", "may not be the header 'Host'")]
)
async def test_a_content_is_signed_by_a_key_that_both_sides_have(
    running: str, header: str, refused: str
) -> None:
    async def receiver(request: web.Request) -> web.Response:
        expected = hmac.digest(b"key-of-both", await request.read(), "sha256").hex()
        right = request.headers["X-Signature-256"] == f"sha256={expected}"
        return web.Response(text=str(right))

    text = f"""--@does source
--@asks http
--@sign hmac {header}
--@params address
if obj.answers then return {{value = obj.answers[1].body}} end
return {{ask = {{{{url = obj.params.address, json = {{a = "b"}}, sign = "hmac"}}}}}}
"""
    secrets = Secrets(vendor={"hmacKey": "key-of-both"})
    async with asking(running, text, receiver, secrets=secrets) as script:
        asked = script.outcome(secrets=("hmacKey",))
        if refused:
            with pytest.raises(Exception, match=refused):
                await asked
        else:
            assert (await asked).ended == SourceValue("True")
