"""The library's modules for scripts that ask, in the engine itself."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.scripts.modules import Modules
from luaworker.wire import Module
from tests.unit.lua_configuration.cases import FOLDER
from tests.unit.luaworker.engine import run


def modules() -> tuple[Module, ...]:
    asked = Modules.read(FOLDER).asked_for(("exchange", "events"))
    assert isinstance(asked, tuple)
    return tuple(Module(one.name.encode(), one.text, one.hidden) for one in asked)


MODULES = modules()


def result(script: str, obj: Any = None) -> Any:
    answer = run(f"return {{({script})}}", json.dumps({"o": obj}).encode(), modules=MODULES)
    assert answer.message == b"", answer.message
    return json.loads(answer.result)


def refusal(script: str, obj: Any = None) -> str:
    answer = run(f"return {{({script})}}", json.dumps({"o": obj}).encode(), modules=MODULES)
    return answer.message.decode()


@given(st.integers(0, 253402300799))
def test_a_time_is_the_one_of_the_calendar(seconds: int) -> None:
    wanted = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)
    assert result("exchange.time(obj.o)", seconds) == [wanted]


@pytest.mark.parametrize(
    ("points", "wanted"),
    [
        ("{1, 2, 3}", {"value": 2, "samples": 2}),
        ("{1}", {"value": 1, "samples": 1}),
        ("{json.null, 1}", {"value": 1, "samples": 1}),
        ("{1, json.null, json.null}", {"value": 1, "samples": 1}),
        ("{json.null, json.null}", []),
        ("{}", []),
        ("nil", []),
        ("json.null", []),
        ('{"0.5", "x", "7"}', {"value": 0.5, "samples": 1}),
    ],
)
def test_the_newest_complete_value_counts(points: str, wanted: Any) -> None:
    found = result(f"exchange.newest({points})")[0]
    assert (found or []) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("1", [1]), ('"2.5"', [2.5]), ('"NaN"', []), ('"inf"', []), ("true", []), ("json.null", [])],
)
def test_only_a_finite_number_is_a_number(value: str, wanted: list[float]) -> None:
    assert (result(f"exchange.number({value})") or []) == wanted


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"message":"no such\\nquery"}', ": no such query"),
        ('{"errors":[{"detail":"bad"}]}', ": bad"),
        ('{"error":{"code":1,"reason":"shard"}}', ": shard"),
        ("plain words", ": plain words"),
        ("<html>a page</html>", ""),
        ('{"data":[]}', ""),
        ("", ""),
        ('{"message":"' + "é" * 200 + '"}', ": " + "é" * 78 + "…"),
    ],
)
def test_an_error_has_the_first_words_of_the_service_and_no_page(body: str, said: str) -> None:
    message = refusal('exchange.read(obj.o, "Lab")', {"status": 403, "body": body})
    assert message == f"s:1: Lab answered 403{said}"


def test_nulls_keep_places_in_lists_and_are_absent_in_objects() -> None:
    body = {"status": 200, "body": '{"a":[[null,1],null],"b":null}'}
    script = 'exchange.read(obj.o, "Lab")'
    assert result(script, body) == [{"a": [[None, 1], None]}]
    assert result(f"{script}.b == nil", body) == [True]


def test_an_answer_that_is_no_json_is_an_error() -> None:
    message = refusal('exchange.read(obj.o, "Lab")', {"status": 200, "body": "<html>"})
    assert "Lab answered 200 with something that is no JSON object or list" in message


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"status": 204}, {"sent": True}),
        ({"status": 429, "headers": {"retry-after": "7"}}, {"again": 7, "why": "Lab answered 429"}),
        ({"status": 429, "headers": {}}, {"again": 30, "why": "Lab answered 429"}),
        (
            {"status": 503, "headers": {"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}},
            {"again": 30, "why": "Lab answered 503"},
        ),
        (
            {"status": 403, "headers": {"retry-after": "99999"}},
            {"again": 3600, "why": "Lab answered 403"},
        ),
    ],
)
def test_a_target_is_told_again_after_the_time_that_it_names(answer: Any, wanted: Any) -> None:
    assert result('exchange.sent(obj.o, "Lab")', answer) == [wanted]


def test_a_target_that_refuses_is_an_error() -> None:
    answer = {"status": 404, "headers": {}, "body": "no such hook"}
    assert "Lab answered 404: no such hook" in refusal('exchange.sent(obj.o, "Lab")', answer)


@pytest.mark.parametrize(
    ("reason", "level"),
    [
        ("ReleaseStarted", "news"),
        ("ReleaseCompleted", "good"),
        ("WaitsForApproval", "asks"),
        ("AnalysisFailed", "bad"),
        ("RouteHeld", "bad"),
        ("ProgressDeadlineExceeded", "bad"),
    ],
)
def test_an_event_has_a_level_by_its_reason(reason: str, level: str) -> None:
    assert result("events.level(obj.o)", {"reason": reason}) == [level]


@given(st.text(max_size=60), st.integers(3, 40))
def test_a_text_is_cut_between_characters(text: str, most: int) -> None:
    (short,) = result(f"exchange.short(obj.o, {most})", text)
    assert len(short.encode()) <= most
    assert short == text or text.startswith(short.removesuffix("…"))
