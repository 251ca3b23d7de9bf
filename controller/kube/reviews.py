"""Asks the API server for the account of a token, and whether that account may get a path of ours.

Invariant: the second question contains everything that the first answer has about the account; every answer except a
clear yes counts as a refusal. The token is sent to the API server only.
"""

from controller.kube.kr8s_lean import Api
from controller.kube.objects import SubjectAccessReview, TokenReview
from controller.kube.who_may import answered, is_clear_yes
from controller.telemetry.secure import Verdict


class ApiReviewer:
    """Reviews by the API server that `api` speaks to."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def review(self, token: str, path: str) -> Verdict:
        """The account of the token, and whether it may get the path. Raises the client's errors."""
        known = (await answered(self._api, TokenReview, {"token": token})).status
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
        allowed = is_clear_yes(await answered(self._api, SubjectAccessReview, asked))
        return Verdict.ALLOWED if allowed else Verdict.FORBIDDEN
