"""Selectors, suggestions, Events, versions, names of the program."""

from datetime import UTC, datetime

import msgspec
import pytest

from controller.cli.commands.version import controller_text
from controller.cli.main import program_name
from controller.cli.reading.events import Event, event_view
from controller.cli.reading.facts import selector_text
from controller.cli.reading.found_rollouts import suggestion
from controller.cli.reading.programs import Program
from tests.unit.cli.builders import make_rollout


def test_a_selector_is_spelled_as_the_api_reads_it() -> None:
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["a", "b"]},
            {"key": "env", "operator": "NotIn", "values": ["x"]},
            {"key": "here", "operator": "Exists"},
            {"key": "gone", "operator": "DoesNotExist"},
        ],
    }
    assert (
        selector_text(msgspec.json.encode(selector))
        == "app=web,tier in (a,b),env notin (x),here,!gone"
    )
    assert selector_text(b"") == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wbe-shop", "did you mean web-shop?"),
        ("zzz", "there are: web-shop"),
        ("web", "Deployment web is released by Rollout web-shop"),
    ],
)
def test_a_wrong_name_leads_to_the_right_one(name: str, text: str) -> None:
    assert text in suggestion(name, "shop", (make_rollout(name="web-shop"),))


def test_an_empty_namespace_and_a_full_one() -> None:
    assert "and no other" in suggestion("x", "shop", ())
    many = tuple(make_rollout(name=f"long-name-{n}") for n in range(12))
    assert "…" in suggestion("x", "shop", many)


def test_both_kinds_of_events_are_read() -> None:
    at = "2026-05-04T12:00:00Z"
    old = msgspec.convert({"reason": "A", "count": 3, "lastTimestamp": at}, Event)
    new = msgspec.convert(
        {"reason": "B", "eventTime": at, "series": {"count": 5, "lastObservedTime": at}}, Event
    )
    made = msgspec.convert({"metadata": {"creationTimestamp": at}}, Event)
    assert [event_view(event).count for event in (old, new, made)] == [3, 5, 1]
    assert {event_view(event).at for event in (old, new, made)} == {
        datetime(2026, 5, 4, 12, tzinfo=UTC)
    }


def test_the_controller_is_known_by_its_account() -> None:
    spec = {
        "serviceAccountName": "kruise-rollout-controller-manager",
        "containers": [{"name": "manager", "image": "moonshift:1"}],
    }
    labels = {"app.kubernetes.io/version": "1.2"}
    body = {"metadata": {"labels": labels}, "spec": {"template": {"spec": spec}}}
    found = msgspec.convert(body, Program)
    assert controller_text([Program(), found], "ns") == "1.2 (moonshift:1)"
    bare = msgspec.convert({"spec": {"template": {"spec": spec}}}, Program)
    assert controller_text([bare], "ns") == "moonshift:1"
    assert "not found in namespace ns" in controller_text([], "ns")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/bin/moonshift", "moonshift"),
        ("/usr/bin/kubectl-moonshift", "kubectl moonshift"),
        ("kubectl-kruise", "kubectl kruise"),
        ("/x/controller/cli/main.py", "moonshift"),
    ],
)
def test_hints_use_the_name_the_program_was_called_by(path: str, name: str) -> None:
    assert program_name(path) == name
