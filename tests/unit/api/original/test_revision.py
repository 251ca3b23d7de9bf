"""The names of Deployments' revisions are those that the original's library computes.

`templates.json` has pod templates with the answers of the original's `util.ComputeHash` (release 0.6.2, run as a Go
program): two as people write them, three that have fields of all sorts.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.api.original.revision import original_revision

KNOWN: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("templates.json").read_text("utf-8")
)
PLAIN: dict[str, Any] = KNOWN[0]["template"]


def revision(template: dict[str, Any]) -> str | None:
    return original_revision(msgspec.json.encode(template))


def with_container(**fields: Any) -> dict[str, Any]:
    container = {**PLAIN["spec"]["containers"][0], **fields}
    return {**PLAIN, "spec": {"containers": [container]}}


@pytest.mark.parametrize("at", range(len(KNOWN)))
def test_the_name_is_the_one_that_the_original_computes(at: int) -> None:
    assert revision(KNOWN[at]["template"]) == KNOWN[at]["revision"]


def test_the_order_of_fields_does_not_matter_and_null_is_absent() -> None:
    turned = {"spec": PLAIN["spec"], "metadata": {**PLAIN["metadata"], "annotations": None}}
    assert revision(turned) == KNOWN[0]["revision"]


def test_an_empty_object_is_not_an_absent_one() -> None:
    spec = {**PLAIN["spec"], "securityContext": {}}
    assert revision({**PLAIN, "spec": spec}) not in (None, KNOWN[0]["revision"])


@pytest.mark.parametrize(
    "fields",
    [
        {"restartPolicyRules": [{"action": "Restart"}]},
        {"resources": {"claims": [{"name": "a", "request": "b"}]}},
        {"resources": {"limits": {"memory": "1.5Gi"}}},
        {"ports": [{"containerPort": "80"}]},
        {"tty": "yes"},
        {"command": "run"},
        {"resources": []},
        {"image": 1},
    ],
)
def test_a_template_that_the_original_cannot_hold_has_no_name(fields: dict[str, Any]) -> None:
    assert revision(with_container(**fields)) is None


@pytest.mark.parametrize(
    "fields",
    [{"creationTimestamp": "2026-01-01T00:00:00Z"}, {"managedFields": [{"manager": "kubectl"}]}],
)
def test_a_template_with_fields_that_a_server_writes_has_no_name(fields: dict[str, Any]) -> None:
    assert revision({**PLAIN, "metadata": {**PLAIN["metadata"], **fields}}) is None
