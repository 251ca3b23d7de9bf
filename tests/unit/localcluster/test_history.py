"""Order and completeness of a recording."""

from pathlib import Path

import pytest

from localcluster.api import JsonObject
from localcluster.audit import AuditLog
from localcluster.history import Change, Key, Kind, changes_between, make_change, unseen_writes
from tests.unit.localcluster.test_audit import line, log

SERVICES = Kind("", "v1", "services")
DEPLOYMENTS = Kind("apps", "v1", "deployments")


def body(name: str, version: int) -> JsonObject:
    return {"metadata": {"namespace": "n", "name": name, "resourceVersion": str(version)}}


def change(name: str, version: int, change_type: str = "ADDED") -> Change:
    return make_change(SERVICES, change_type, body(name, version))


def test_paths_of_kinds() -> None:
    assert SERVICES.path == "/api/v1/services"
    assert DEPLOYMENTS.path == "/apis/apps/v1/deployments"


def test_a_change_is_named_by_kind_namespace_and_name() -> None:
    assert change("a", 7).key == Key(SERVICES, "n", "a")
    assert change("a", 7).resource_version == 7


def test_a_new_list_becomes_the_changes_that_lead_to_it() -> None:
    known = {c.key: c for c in (change("kept", 1), change("moved", 2), change("gone", 3))}
    known |= {c.key: c for c in (change("back", 4, "DELETED"), change("dead", 5, "DELETED"))}
    listed = [change(n, v, "EXISTED") for n, v in (("kept", 1), ("moved", 9), ("back", 8))]
    found = changes_between(known, listed, SERVICES, 20)
    assert [(c.resource_version, c.type, c.key.name) for c in found] == [
        (8, "ADDED", "back"),
        (9, "MODIFIED", "moved"),
        (20, "DELETED", "gone"),
    ]


def test_a_new_list_says_nothing_about_other_kinds() -> None:
    known = {Key(DEPLOYMENTS, "n", "d"): change("d", 1)}
    assert changes_between(known, [], SERVICES, 9) == []


def written(
    version: int,
    *,
    verb: str = "patch",
    code: int = 200,
    resource: str = "deployments",
    uri: str = "/apis/apps/v1/x",
) -> bytes:
    answer = {"metadata": {"resourceVersion": str(version)}}
    return line("a", verb, code=code, resource=resource, responseObject=answer, requestURI=uri)


@pytest.mark.parametrize(
    ("record", "unseen"),
    [
        pytest.param(written(12), True, id="a write nobody saw"),
        pytest.param(written(11), False, id="a write that was seen"),
        pytest.param(written(10), False, id="a write before the recording"),
        pytest.param(written(12, code=409), False, id="a refused write"),
        pytest.param(written(12, verb="get"), False, id="a read"),
        pytest.param(written(12, verb="deletecollection"), False, id="a collection's deletion"),
        pytest.param(written(12, uri="/x?dryRun=All"), False, id="a dry run"),
        pytest.param(written(12, resource="pods"), False, id="a kind not recorded"),
        pytest.param(line("a", "delete"), False, id="an answer without a revision"),
    ],
)
def test_unseen_writes(tmp_path: Path, record: bytes, unseen: bool) -> None:
    audit: AuditLog = log(tmp_path, record)
    found = unseen_writes(audit.since(), {11}, {("apps", "deployments"): 10})
    assert bool(found) is unseen
