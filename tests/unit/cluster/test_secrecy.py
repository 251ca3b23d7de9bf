"""The search for secrets in logs finds every form of a secret, and names the place without repeating the secret."""

import base64
from collections.abc import Callable

import pytest

from tests.cluster.secrecy import leaks, of_kubeconfig, of_secret

TOKEN = b"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjb250cm9sbGVyIn0.c2lnbmF0dXJlLW9mLXRoZS1zZXJ2ZXI"
KEY = b"-----BEGIN PRIVATE KEY-----\n" + base64.encodebytes(bytes(range(150))) + b"-----END-----\n"
TEXT = b"hush-hush"


def logged(text: bytes) -> list[str]:
    """The findings in a log whose second line has this message."""
    log = b'{"msg":"begun"}\n{"msg":"' + text + b'"}\n'
    return leaks({"controller.log": log}, {"token": TOKEN, "key": KEY, "text": TEXT})


BAD: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a token": ("token", lambda: TOKEN),
    "the signature of a token": ("token", lambda: TOKEN.rpartition(b".")[2]),
    "what a token says of itself": ("token", lambda: TOKEN.split(b".")[1]),
    "a line of a key": ("key", lambda: KEY.splitlines()[2]),
    "a key in a Secret's data": ("key", lambda: base64.b64encode(KEY)),
    "a Secret's text": ("text", lambda: b"it is " + TEXT + b"-v2"),
    "a Secret's text in its data": ("text", lambda: base64.b64encode(TEXT + b"-v2")),
}


@pytest.mark.parametrize("name", BAD)
def test_a_log_with_a_secret_is_flagged(name: str) -> None:
    place, reported = BAD[name]
    assert logged(reported()) == [f"controller.log, line 2: {place}"]


def test_a_log_without_one_passes() -> None:
    header = KEY.splitlines()[0] + TOKEN.split(b".")[0]
    assert logged(b"Secret here/shop was read; " + header) == []


def test_the_secrets_of_a_kubeconfig_are_its_tokens_and_keys() -> None:
    users = (
        "{kind: Config, users: [{name: a, user: {token: t-1}}, {name: b, user: {client-key-data: "
        f"{base64.b64encode(KEY).decode()}}}}}]}}"
    )
    assert of_kubeconfig("x", users) == {"x: token of a": b"t-1", "x: key of b": KEY}


def test_the_content_of_a_secret_is_secret_except_its_certificates() -> None:
    data = {"tls.key": base64.b64encode(KEY).decode(), "tls.crt": "cHVibGlj"}
    meta = {"namespace": "here", "name": "certs"}
    assert of_secret({"metadata": meta, "data": data}) == {"Secret here/certs tls.key": KEY}
