"""A person who names a ServiceAccount for a script must be allowed to impersonate it."""

import json
from typing import Any

import msgspec
import pytest

from controller.domain.admission.accounts import NamedAccount
from controller.errors import Right, Unreachable
from controller.kube.subjects import Subject
from controller.runtime.clock import SystemClock
from controller.webhook.admission import Admission
from controller.webhook.impersonation import Impersonation
from controller.webhook.readers import LIVE_BURST
from controller.webhook.review import AdmissionRequest, Answer, User
from tests.component.webhook.served import Reads
from tests.unit.domain.admission.test_accounts import entry, routing
from tests.unit.domain.admission.test_rollout import edited, raw

SCOPES = {"scopes": ("a", "b")}
ANNA = User("anna", "u-1", ("shop-team",), {**SCOPES})


class Authorizer:
    """The API server's answers."""

    def __init__(self, *, allowed: bool = True, away: bool = False) -> None:
        self.allowed, self.away = allowed, away
        self.asked: list[tuple[Subject, Right]] = []

    async def may_user(self, subject: Subject, right: Right) -> bool:
        self.asked.append((subject, right))
        if self.away:
            raise Unreachable("away")
        return self.allowed


async def judged(
    authorizer: Authorizer | None, old: Any, new: Any, *, lane: bool = False
) -> Answer:
    """Anna writes a Rollout, or a TrafficRouting."""
    admission = Admission(
        Reads(), Reads(), SystemClock(), is_own=lambda *who: False,
        authors=Impersonation(authorizer) if authorizer is not None else None,
    )  # fmt: skip
    request = AdmissionRequest(
        uid="r", operation="UPDATE" if old else "CREATE", namespace="shop", user_info=ANNA,
        object=msgspec.Raw(json.dumps(new).encode()),
        old_object=msgspec.Raw(json.dumps(old).encode()),
    )  # fmt: skip
    return await (admission.traffic_routing if lane else admission.rollout)(request)


WRITTEN = [
    # The name of the Rollout that the namespace has already.
    pytest.param(
        edited(raw(trafficRoutings=[entry()]), "metadata", "name", to="r"), False, id="rollout"
    ),
    pytest.param(routing(entry()), True, id="trafficrouting"),
]


@pytest.mark.parametrize(("new", "lane"), WRITTEN)
async def test_the_author_is_asked_about_with_all_that_is_known_of_him(
    new: Any, lane: bool
) -> None:
    authorizer = Authorizer()
    assert (await judged(authorizer, None, new, lane=lane)).allowed
    right = Right("impersonate", "", "serviceaccounts", "", "shop", "router")
    assert authorizer.asked == [(Subject("anna", "u-1", ("shop-team",), SCOPES), right)]
    assert (await judged(authorizer, new, new, lane=lane)).allowed
    assert len(authorizer.asked) == 1


@pytest.mark.parametrize(("new", "lane"), WRITTEN)
async def test_a_user_without_the_right_is_refused_in_words(new: Any, lane: bool) -> None:
    answer = await judged(Authorizer(allowed=False), None, new, lane=lane)
    assert (answer.allowed, answer.code) == (False, 403)
    assert "scriptRef.serviceAccountName: Forbidden" in answer.message
    assert "user 'anna' may not impersonate it" in answer.message
    assert "kubectl create role impersonate-router -n shop --verb=impersonate" in answer.message


@pytest.mark.parametrize(("new", "lane"), WRITTEN)
async def test_an_unknown_answer_counts_as_a_refusal(new: Any, lane: bool) -> None:
    assert (
        "cannot be asked: away"
        in (await judged(Authorizer(away=True), None, new, lane=lane)).message
    )
    assert "not served here" in (await judged(None, None, new, lane=lane)).message


async def test_forged_reviews_ask_a_bounded_number_of_questions() -> None:
    authorizer = Authorizer()
    author = Impersonation(authorizer)
    several = [entry(f"a{number}", name=f"o{number}") for number in range(2 * LIVE_BURST)]
    admission = Admission(
        Reads(), Reads(), SystemClock(), is_own=lambda *who: False, authors=author
    )
    new = msgspec.Raw(json.dumps(routing(*several)).encode())
    request = AdmissionRequest(uid="r", operation="CREATE", namespace="shop", object=new)
    answer = await admission.traffic_routing(request)
    assert "too many questions" in answer.message
    assert len(authorizer.asked) <= LIVE_BURST + 1


async def test_an_author_with_attributes_without_values_is_asked_about() -> None:
    body = b'{"uid":"1","userInfo":{"username":"anna","groups":null,"extra":{"scopes":null}}}'
    author = msgspec.json.decode(body, type=AdmissionRequest).user_info
    authorizer = Authorizer()
    account = NamedAccount("path", "router")
    assert await Impersonation(authorizer).refuses(author, "shop", account) == ""
    ((subject, _),) = authorizer.asked
    assert subject == Subject("anna", "", (), {"scopes": ()})
