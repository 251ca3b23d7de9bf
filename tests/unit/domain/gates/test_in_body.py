"""Words in the body of a request: whatever others write, the body has the fields that its author wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.analysis import Header, Method, Metric, WebQuery
from controller.domain.gates.in_body import in_json, in_other_body, is_json
from controller.domain.gates.origins import Origin, Placed, Unplaced, Word
from controller.domain.gates.wording import UnknownWord, filled

FORM = Header("content-type", "application/x-www-form-urlencoded")


def others(text: str) -> Placed:
    return Placed("args.x", Word(text, Origin.OTHERS))


def sent(body: str, origin: Origin = Origin.OTHERS, *headers: Header, text: str = "x") -> str:
    """The body as it is sent, or why it is not."""
    page = WebQuery("http://a", method=Method.POST, body=body, headers=headers)
    found = filled(Metric("m", web=page), {"args.x": Word(text, origin)})
    if isinstance(found, UnknownWord):
        return found.message
    assert found.web is not None
    return found.web.body


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_a_value_in_a_string_of_json_is_the_content_of_that_string(text: str) -> None:
    made = in_json(('{"zone": "eu ', others(text), '", "wanted": "ok"}'))
    if isinstance(made, Unplaced):
        assert "{{" in text
    else:
        assert json.loads(made) == {"zone": f"eu {text}", "wanted": "ok"}


@given(st.text(), st.text())
def test_no_values_beside_each_other_make_the_place_of_a_secret(one: str, two: str) -> None:
    made = in_json(('{"a": "', others("{" + one), others("{ secret creds/token }}" + two), '"}'))
    assert isinstance(made, Unplaced) or "{{" not in made


@pytest.mark.parametrize("text", ["1", "-0.5", "2e9"])
def test_a_number_may_stand_outside_of_a_string(text: str) -> None:
    assert in_json(('{"limit": ', others(text), "}")) == f'{{"limit": {text}}}'


@pytest.mark.parametrize("text", ["1, 2", "true", '"a"', "01", "1}", "", "x"])
def test_nothing_else_may_stand_outside_of_a_string(text: str) -> None:
    made = in_json(('{"a": "b", "limit": ', others(text), "}"))
    assert isinstance(made, Unplaced)
    assert "put quotation marks around it" in made.why


@pytest.mark.parametrize("before", ['{"a": "\\', '{"a": "b\\u00', '{"a\\\\\\'])
def test_a_value_behind_a_backslash_is_refused(before: str) -> None:
    made = in_json((before, others("n"), '"}'))
    assert isinstance(made, Unplaced)
    assert "behind a backslash" in made.why


@pytest.mark.parametrize("before", ['{"a": "\\\\', '{"a": "\\"', '{"a": "\\u0041'])
def test_an_escape_that_is_complete_takes_nothing_of_the_value(before: str) -> None:
    assert in_json((before, others("n"), '"}')) == f'{before}n"}}'


@pytest.mark.parametrize(
    ("type_", "json_"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/vnd.api+json", True),
        ("text/plain", False),
        ("application/jsonp", False),
        ("text/plain; application/json", False),
    ],
)
def test_the_type_of_a_body_says_whether_it_is_json(type_: str, json_: bool) -> None:
    assert is_json((Header("content-TYPE", type_),)) is json_
    assert is_json((Header("X-Other", "text/plain"),))
    assert not is_json((Header("Content-Type", type_), Header("content-type", type_)))


def test_a_body_of_another_type_gets_plain_words_only() -> None:
    assert in_other_body(("zone=", others("eu-1.a_b"))) == "zone=eu-1.a_b"
    for text in ("a&b=c", "a b", "a\nb", "%41", ""):
        assert isinstance(in_other_body(("zone=", others(text))), Unplaced)


def test_a_body_is_filled_as_its_type_says() -> None:
    assert sent('{"zone": "{{ args.x }}"}', text='a"b') == '{"zone": "a\\"b"}'
    assert "only letters" in sent('zone="{{ args.x }}"', Origin.OTHERS, FORM, text='a"b')
    assert sent('{"zone": {{ args.x }}}', Origin.AUTHOR, text='"a"') == '{"zone": "a"}'
    assert "may not hold a line break" in sent('{"zone": "{{ args.x }}"}', text="a\nb")


def test_a_secret_in_a_body_of_json_stands_in_a_string() -> None:
    place = "{{ secret creds/key }}"
    assert sent(f'{{"key": "{place}"}}') == f'{{"key": "{place}"}}'
    assert "put quotation marks around it" in sent(f'{{"key": {place}}}')
    assert "put quotation marks" in sent('{"k": {{ args.x }}}', Origin.SECRET, text=place)
    assert "behind a backslash" in sent(f'{{"key": "\\{place}"}}')
    assert sent(f"key={place}", Origin.OTHERS, FORM) == f"key={place}"


def test_a_word_without_a_value_in_a_body_is_named() -> None:
    assert "{{ args.y }} has no value" in sent('{"a": "{{ args.y }}"}')
