"""The entries of the audit log that count as requests."""

import json
from pathlib import Path

import pytest

from localcluster.audit import AuditLog, count, resource_name

BASE = {
    "kind": "Event",
    "apiVersion": "audit.k8s.io/v1",
    "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
    "stageTimestamp": "2026-01-01T00:00:00.250000Z",
    "userAgent": "a-client",
    "sourceIPs": ["127.0.0.1"],
}


def line(
    user: str,
    verb: str,
    *,
    stage: str = "ResponseComplete",
    code: int = 200,
    resource: str = "deployments",
    **rest: object,
) -> bytes:
    event = {
        **BASE,
        "auditID": f"{user}-{verb}",
        "stage": stage,
        "verb": verb,
        "requestURI": "/apis/apps/v1/namespaces/n/deployments/d",
        "user": {"username": user, "groups": ["g"]},
        "responseStatus": {"metadata": {}, "code": code},
        "objectRef": {"resource": resource, "apiGroup": "apps", "namespace": "n", "name": "d"},
        **rest,
    }
    return json.dumps(event).encode() + b"\n"


def log(tmp_path: Path, *lines: bytes) -> AuditLog:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b"".join(lines))
    return AuditLog(path)


def test_a_missing_log_is_an_empty_one(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path / "none")
    assert audit.mark() == 0
    assert audit.since() == []


def test_a_watch_counts_at_its_start_and_a_refused_one_at_its_refusal(tmp_path: Path) -> None:
    audit = log(
        tmp_path,
        line("a", "watch", stage="ResponseStarted"),
        line("a", "watch"),
        line("b", "watch", code=403),
    )
    assert [(r.user, r.code) for r in audit.since()] == [("a", 200), ("b", 403)]


def test_a_cursor_hides_the_text_before_it(tmp_path: Path) -> None:
    audit = log(tmp_path, line("a", "get"))
    cursor = audit.mark()
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(line("b", "get"))
    assert [r.user for r in audit.since(cursor)] == ["b"]
    assert [r.user for r in audit.since()] == ["a", "b"]


def test_a_cursor_in_the_middle_of_a_line_skips_it(tmp_path: Path) -> None:
    audit = log(tmp_path, line("a", "get")[:-20])
    cursor = audit.mark()
    (tmp_path / "audit.jsonl").write_bytes(line("a", "get") + line("b", "get"))
    assert [record.user for record in audit.since(cursor)] == ["b"]


def test_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    audit = log(tmp_path, line("a", "get"), line("b", "get")[:-20])
    assert [r.user for r in audit.since()] == ["a"]


def test_bodies_and_the_answers_revision_are_read(tmp_path: Path) -> None:
    body = {"metadata": {"resourceVersion": "17"}, "spec": {"replicas": 2}}
    audit = log(
        tmp_path, line("a", "patch", requestObject={"spec": {"replicas": 2}}, responseObject=body)
    )
    record = audit.since()[0]
    assert record.is_write
    assert record.resource_version == 17
    assert record.request() == {"spec": {"replicas": 2}}
    assert record.response() == body
    assert (record.at - record.received_at).total_seconds() == 0.25


@pytest.mark.parametrize(
    ("group", "resource"),
    [
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    ],
)
def test_a_review_is_a_question_and_no_write(tmp_path: Path, group: str, resource: str) -> None:
    about = {"resource": resource, "apiGroup": group}
    assert not log(tmp_path, line("a", "create", objectRef=about)).since()[0].is_write


def test_a_dry_run_is_no_write(tmp_path: Path) -> None:
    uri = "/api/v1/namespaces/n/services/s?fieldManager=x&dryRun=All"
    assert not log(tmp_path, line("a", "update", requestURI=uri)).since()[0].is_write


def test_a_request_without_bodies_has_none(tmp_path: Path) -> None:
    record = log(tmp_path, line("a", "get")).since()[0]
    assert record.request() is None
    assert record.response() is None
    assert record.resource_version is None


def test_counts_are_by_user_verb_and_resource(tmp_path: Path) -> None:
    audit = log(tmp_path, line("a", "get"), line("a", "get"), line("b", "list"))
    assert count(audit.since()) == {
        ("a", "get", "deployments.apps"): 2,
        ("b", "list", "deployments.apps"): 1,
    }
    assert len(audit.since(user="a")) == 2
    assert len(audit.since(where=lambda r: r.verb == "list")) == 1


def test_a_request_about_no_resource_is_named_by_its_path(tmp_path: Path) -> None:
    event = json.loads(line("a", "get"))
    del event["objectRef"]
    event["requestURI"] = "/version?timeout=5s"
    record = log(tmp_path, json.dumps(event).encode() + b"\n").since()[0]
    assert resource_name(record) == "/version"
