"""The rule about shares that lead to nobody finds what it is there to find, in histories made by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from localcluster.history import Change, Kind, make_change
from tests.cluster import manifests
from tests.cluster.kinds import PODS, SERVICES, SLICES, VIRTUAL_SERVICES
from tests.cluster.manifests import Application
from tests.trouble.forms import PACED
from tests.trouble.stranded import PATIENCE_SECONDS, stranded

BEGUN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
APP = PACED.application("test-1")


class Written:
    """A history, a second between any two changes unless told otherwise."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.changes: list[Change] = []
        self.at: dict[int, datetime] = {}
        self.now = BEGUN

    def put(self, kind: Kind, name: str, body: dict[str, Any], seconds: float = 0.1) -> None:
        self.now += timedelta(seconds=seconds)
        revision = len(self.changes) + 1
        metadata = {"namespace": self.app.namespace, "resourceVersion": str(revision), "name": name}
        body = {**body, "metadata": {**body.get("metadata", {}), **metadata}}
        self.changes.append(make_change(kind, "MODIFIED", body))
        self.at[revision] = self.now

    def slice(self, service: str, *pods: str, seconds: float = 0.1) -> None:
        label = {"kubernetes.io/service-name": service}
        endpoints = [
            {"conditions": {"ready": True}, "targetRef": {"kind": "Pod", "name": pod}}
            for pod in pods
        ]
        body = {"metadata": {"labels": label}, "endpoints": endpoints}
        self.put(SLICES, f"{service}-1", body, seconds)

    def route(self, stable: int, seconds: float = 0.1) -> None:
        body = manifests.virtual_service(self.app)
        body["spec"]["http"][1]["route"] = [
            {"destination": {"host": host}, "weight": weight}
            for host, weight in (("shop", stable), ("shop-canary", 100 - stable))
        ]
        self.put(VIRTUAL_SERVICES, "shop", body, seconds)

    def found(self, seconds: float = 0.0) -> list[str]:
        now = self.now + timedelta(seconds=seconds)
        rules = stranded(
            self.app, self.changes, lambda change: self.at.get(change.resource_version), now
        )
        return [violation.detail for violation in rules]


@pytest.fixture
def written() -> Written:
    history = Written(APP)
    for service in ("shop", "shop-canary"):
        history.put(SERVICES, service, manifests.service(APP, service))
    for pod in ("old", "new"):
        labels = {"labels": {"app": "shop"}}
        history.put(PODS, pod, {"metadata": labels})
    history.slice("shop", "old")
    history.slice("shop-canary", "new")
    history.route(80)
    return history


TOO_LONG = APP.grace + PATIENCE_SECONDS + 1


def test_a_share_of_a_side_that_lost_its_pods_is_found(written: Written) -> None:
    written.slice("shop-canary")
    written.route(100, TOO_LONG)
    assert written.found() == ["20 % to shop-canary for 4.0 s"]


def test_a_share_that_still_leads_to_nobody_is_found(written: Written) -> None:
    written.slice("shop")
    assert written.found(TOO_LONG) == ["80 % to shop for 4.0 s"]


def test_a_share_that_goes_in_time_is_no_violation(written: Written) -> None:
    written.slice("shop-canary")
    written.route(100, APP.grace)
    assert written.found(TOO_LONG) == []


def test_pods_that_come_back_in_time_are_no_violation(written: Written) -> None:
    written.slice("shop-canary")
    written.slice("shop-canary", "new", seconds=APP.grace)
    assert written.found(TOO_LONG) == []


def test_where_nobody_could_answer_nobody_is_to_blame(written: Written) -> None:
    written.slice("shop-canary")
    written.slice("shop")
    assert written.found(TOO_LONG) == []
