"""Secrets of gates are read with the hosts to which they may be sent, and a failure says why without a value."""

import base64

import msgspec
import pytest

from controller.api.jsontree import JsonObject
from controller.effects.gate_secrets import GateSecrets
from controller.errors import Forbidden, NotFound
from controller.kube.resources import SECRETS, Resource
from controller.outbound.fetching import Failed


class Shelf:
    """One Secret, or the failure to read it."""

    def __init__(self, found: JsonObject | Exception) -> None:
        self.found = found

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """The Secret as the API server answers it."""
        assert (resource, namespace, name) == (SECRETS, "shop", "creds")
        if isinstance(self.found, Exception):
            raise self.found
        return msgspec.json.encode(self.found)


def encoded(value: bytes) -> dict[str, str]:
    """The data of a Secret."""
    return {"token": base64.b64encode(value).decode()}


async def test_a_secret_is_read_with_its_destinations() -> None:
    annotations = {"moonshift.dev/send-to": "a.test"}
    shelf = Shelf({"metadata": {"annotations": annotations}, "data": encoded(b"hush")})
    found = await GateSecrets(shelf).read("shop", "creds")
    assert (found.values, found.send_to) == ({"token": "hush"}, "a.test")


async def test_a_secret_without_annotation_or_data_goes_nowhere() -> None:
    found = await GateSecrets(Shelf({"metadata": {}, "data": None})).read("shop", "creds")
    assert (found.values, found.send_to) == ({}, "")


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (NotFound("gone", status=404), "Secret shop/creds does not exist"),
        (Forbidden("not you", status=403), "not you"),
        ({"data": encoded(b"\xff\xfe")}, "holds a value that is no text"),
        ({"data": {"token": "%"}}, "holds a value that is no text"),
    ],
)
async def test_a_secret_that_cannot_be_used_is_reported(
    found: JsonObject | Exception, says: str
) -> None:
    with pytest.raises(Failed, match=says):
        await GateSecrets(Shelf(found)).read("shop", "creds")
