"""Asks the API server for the account of a token, and whether that account may get a path of ours.

Invariant: the second question contains everything that the first answer has about the account; every answer except a
clear yes counts as a refusal. The token is sent to the API server only.
"""

from collections.abc import Mapping

import msgspec

from controller.kube.client import KubeClient
from controller.kube.resources import SUBJECT_REVIEWS, TOKEN_REVIEWS, Resource
from controller.telemetry.secure import Verdict


class _User(msgspec.Struct, frozen=True, omit_defaults=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _User = _User()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    denied: bool = False


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()


class ApiReviewer:
    """Reviews by the API server that `client` speaks to."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def review(self, token: str, path: str) -> Verdict:
        """The account of the token, and whether it may get the path. Raises the client's errors."""
        answer = await self._ask(TOKEN_REVIEWS, {"token": token})
        known = msgspec.json.decode(answer, type=_TokenReview).status
        if not known.authenticated or not known.user.username:
            return Verdict.UNKNOWN
        user = known.user
        asked = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        access = msgspec.json.decode(await self._ask(SUBJECT_REVIEWS, asked), type=_AccessReview)
        allowed = access.status.allowed and not access.status.denied
        return Verdict.ALLOWED if allowed else Verdict.FORBIDDEN

    async def _ask(self, kind: Resource, spec: Mapping[str, object]) -> bytes:
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        return await self._client.create(kind, "", msgspec.json.encode(body))
