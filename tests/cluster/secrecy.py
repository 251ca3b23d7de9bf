"""The logs of a whole run contain no secret and no part of a script's input.

The search is for the secrets that the run really used: tokens and keys of kubeconfigs, keys of certificates beside
the logs, the content of every Secret on the plane, and texts that tests put into objects. Invariant: a finding names
the log and the secret's place, and never repeats the secret; a run that leaves no log proves nothing and is an error.
"""

import base64
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from demo.stage import Product, product
from localcluster.api import JsonObject
from localcluster.plane import Plane
from tests.cluster.manifests import OF_ROUTES

OF_SECRETS = "hush-hush"
"""A text in the Secrets whose changes tests release."""
SHORTEST = 8
"""Shorter values (`true`, a port) are no secrets, and are in every log."""
OPEN = (".crt", ".pub")
"""Endings of files that everybody may read: certificates without their keys."""
JWT = re.compile(rb"eyJ[\w-]+\.([\w-]+)\.([\w-]+)")

MORE_IS_LOGGED = "-v=4"
"""The most detail that a log can have."""

Secrets = Mapping[str, bytes]
"""The secrets, by their source."""


def leaks(logs: Mapping[str, bytes], secrets: Secrets) -> list[str]:
    """The logs and lines that contain a part of a secret."""
    found = []
    for log, text in logs.items():
        for place, secret in secrets.items():
            at = min((text.find(part) for part in parts_of(secret) if part in text), default=-1)
            if at >= 0:
                line = text[:at].count(b"\n") + 1
                found.append(f"{log}, line {line}: {place}")
    return found


def parts_of(secret: bytes) -> Iterator[bytes]:
    """The forms in which a secret could appear, each long enough to exclude a coincidence."""
    if b"-----BEGIN" in secret:
        lines = secret.splitlines()
        yield from (line for line in lines if not line.startswith(b"-----") and len(line) > 20)
        yield base64.b64encode(secret)[80:160]
        return
    token = JWT.fullmatch(secret.strip())
    if token is not None:
        yield from token.groups()
        return
    yield secret
    # Encoded alone, or as a part of a longer text that begins with it.
    encoded = base64.b64encode(secret)
    yield encoded[: len(secret) // 3 * 4] or encoded


async def secrets_of(running: Product) -> dict[str, bytes]:
    """All secrets of this product and of the other programs on the plane."""
    found = {"the input of a script": OF_ROUTES.encode(), "a Secret's text": OF_SECRETS.encode()}
    for folder in (running.folder, running.plane.layout.directory):
        for path in sorted(folder.rglob("*")):
            if path.suffix == ".key" and path.is_file():
                found[str(path)] = path.read_bytes()
            elif path.suffix == ".yaml" and path.is_file():
                found |= of_kubeconfig(path.name, path.read_text())
    for secret in (await running.plane.client().get("/api/v1/secrets"))["items"]:
        found |= of_secret(secret)
    return {place: value for place, value in found.items() if len(value) >= SHORTEST}


def of_kubeconfig(name: str, text: str) -> dict[str, bytes]:
    """The token and the key of each user."""
    config = yaml.safe_load(text)
    found = {}
    for entry in config.get("users") or ():
        user = entry["user"]
        if "token" in user:
            found[f"{name}: token of {entry['name']}"] = str(user["token"]).encode()
        if "client-key-data" in user:
            found[f"{name}: key of {entry['name']}"] = base64.b64decode(user["client-key-data"])
    return found


def of_secret(secret: JsonObject) -> dict[str, bytes]:
    """The content of a Secret but its certificates."""
    meta = secret["metadata"]
    return {
        f"Secret {meta['namespace']}/{meta['name']} {name}": value
        for name, value in content_of(secret).items()
        if not name.endswith(OPEN)
    }


def content_of(secret: JsonObject) -> dict[str, bytes]:
    """The content of a Secret, decoded."""
    data = secret.get("data") or {}
    return {name: base64.b64decode(value) for name, value in data.items()}


def logs_of(folder: Path) -> dict[str, bytes]:
    """The logs of the processes whose folder this is."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.log"))}


@asynccontextmanager
async def kept_product(
    plane: Plane, folder: Path, *, extra: Sequence[str] = ()
) -> AsyncIterator[Product]:
    """Moonshift, installed and running; at the end its logs must contain no secret."""
    async with product(plane, folder, extra=extra) as running, keeping_secrets(running):
        yield running


@asynccontextmanager
async def keeping_secrets(running: Product) -> AsyncIterator[Product]:
    """At the end of the block, the logs must contain no secret."""
    yield running
    secrets, logs = await secrets_of(running), logs_of(running.folder)
    assert logs.get("controller.log"), f"no log in {running.folder}"
    assert any("token" in place for place in secrets), sorted(secrets)
    assert any("key" in place for place in secrets), sorted(secrets)
    assert leaks(logs, secrets) == []
