"""JSON through plain Lua tables and back: values that a script does not touch keep their exact text."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.luaworker.engine import result, run

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=25,
)


def compact(value: object) -> bytes:
    """As the codec writes it: keys sorted by bytes, no spaces, no needless escapes."""
    return _text(value).encode()


def _text(value: object) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda k: k.encode())
        return "{" + ",".join(f"{_string(k)}:{_text(value[k])}" for k in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@given(VALUES)
@settings(max_examples=150, deadline=None)
def test_untouched_values_come_back_byte_for_byte(value: object) -> None:
    document = compact({"value": value})
    assert result("return obj", document) == document


@given(VALUES)
@settings(max_examples=100, deadline=None)
def test_a_copy_is_written_like_the_value(value: object) -> None:
    document = compact({"value": value})
    assert result("return json.copy(obj)", document) == document
    assert result("return json.copy(json.copy(obj))", document) == document


def test_a_change_of_a_copy_leaves_the_value_alone() -> None:
    script = "local twin = json.copy(obj) table.insert(twin.l, 4) return {obj.l, twin.l}"
    assert result(script, b'{"l":[1,null,{}]}') == b"[[1,null,{}],[1,{},4]]"


@pytest.mark.parametrize(
    "script",
    ["local t = {} t.t = t t = json.copy(t) return t",
     "local t = {} for _ = 1, 200 do t = {t} end t = json.copy(t) return t"],
)  # fmt: skip
def test_what_cannot_be_written_cannot_be_copied(script: str) -> None:
    answer = run(script)
    assert answer.code.name == "RUNTIME_ERROR"
    assert answer.line == 1
    assert b"nested deeper than 100" in answer.message


NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?\Z")


@given(st.lists(NUMBERS, max_size=6), st.dictionaries(st.sampled_from("abcdef"), NUMBERS))
@settings(max_examples=100, deadline=None)
def test_any_spelling_of_a_number_comes_back(listed: list[str], named: dict[str, str]) -> None:
    members = ",".join(f'"{key}":{named[key]}' for key in sorted(named))
    document = f'{{"list":[{",".join(listed)}],"map":{{{members}}}}}'.encode()
    assert result("return obj", document) == document


@given(VALUES, st.lists(st.booleans(), min_size=1, max_size=92))
@settings(max_examples=40, deadline=None)
def test_any_value_comes_back_from_any_depth(value: object, layers: list[bool]) -> None:
    for in_array in layers:
        value = [None, value] if in_array else {"k": value}
    document = compact({"value": value})
    assert result("return obj", document) == document


@given(VALUES)
@settings(max_examples=50, deadline=None)
def test_a_moved_value_stays_the_same(value: object) -> None:
    found = result("return {moved = {obj.list}}", compact({"list": [value]}))
    if value is None:
        assert found == b'{"moved":[[null]]}'
    else:
        assert json.loads(found) == {"moved": [[value]]}


@pytest.mark.parametrize(
    "number",
    ["80", "80.0", "1e2", "1E+2", "-0", "-0.0", "0.1", "1e-7", "9007199254740993",
     "18446744073709551615", "-9223372036854775808", "12345678901234567890.123", "1e300", "5e-324"],
)  # fmt: skip
def test_numbers_keep_their_spelling(number: str) -> None:
    assert result("return {obj.n}", f'{{"n":{number}}}'.encode()) is not None
    document = f'{{"n":{number}}}'.encode()
    assert result("return obj", document) == document


def test_a_wide_integer_may_move() -> None:
    found = result("return {b = obj.a}", b'{"a":9007199254740993}')
    assert found == b'{"b":9007199254740993}'


@pytest.mark.parametrize(
    ("expression", "text"),
    [("80 * 0.3", "24"), ("1e15", "1000000000000000"), ("1e20", "100000000000000000000"),
     ("1e21", "1e+21"), ("1/4", "0.25"), ("1/3", "0.3333333333333333"), ("0.1 + 0.2", "0.30000000000000004")],
)  # fmt: skip
def test_computed_numbers_are_written_as_short_as_they_can_be(expression: str, text: str) -> None:
    assert result(f"return {{{expression}}}") == f"[{text}]".encode()


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=50, deadline=None)
def test_computed_numbers_lose_nothing(number: float) -> None:
    (found,) = json.loads(result("return {obj.n * 1 + 0}", compact({"n": number})))
    assert math.isclose(found, number, rel_tol=0, abs_tol=0)


@pytest.mark.parametrize(
    ("script", "document", "expected"),
    [
        ("obj.list[1] = nil return obj", b'{"list":["x"]}', b'{"list":[]}'),
        ("obj.map.a = nil return obj", b'{"map":{"a":1}}', b'{"map":{}}'),
        ("obj.a = 1 return obj", b'{"a":null}', b'{"a":1}'),
        ("obj.a = nil return obj", b'{"a":null,"b":1}', b'{"a":null,"b":1}'),
        ("table.insert(obj.l, 4) return obj", b'{"l":[1,null,3]}', b'{"l":[1,3,4]}'),
        ("obj.n = 100 return obj", b'{"n":1e2}', b'{"n":1e2}'),
        ("obj.n = 101 return obj", b'{"n":1e2}', b'{"n":101}'),
        ("table.remove(obj.l, 1) return obj", b'{"l":[{"a":[]},{"b":{}}]}', b'{"l":[{"b":{}}]}'),
        ("return {}", b"{}", b"{}"),
        ("return {json.array(), json.object(), json.null}", b"{}", b"[[],{},null]"),
        ("return {a = json.null}", b"{}", b'{"a":null}'),
        (
            "obj.b = {filters = {}} return obj",
            b'{"a":{"filters":[]}}',
            b'{"a":{"filters":[]},"b":{"filters":[]}}',
        ),
        (
            "obj.b = {x = {}} return obj",
            b'{"a":[{"x":[]},{"x":{}}]}',
            b'{"a":[{"x":[]},{"x":{}}],"b":{"x":{}}}',
        ),
        ("obj.b = {{}} return obj", b'{"a":[[]]}', b'{"a":[[]],"b":[{}]}'),
    ],
)
def test_changes_are_written_and_the_rest_kept(
    script: str, document: bytes, expected: bytes
) -> None:
    assert result(script, document) == expected


def test_escapes_are_understood() -> None:
    document = rb'{"a":"\u00e9\ud83d\ude00\n\"\\\/\u0000","b":"\ud800"}'
    assert json.loads(result("return obj", document)) == {"a": 'é😀\n"\\/\0', "b": "\ufffd"}


def test_depth_100_goes_through_and_101_does_not() -> None:
    assert result("return obj", b"[" * 100 + b"]" * 100) == b"[" * 100 + b"]" * 100
    assert run("return obj", b"[" * 101 + b"]" * 101).code.name == "BAD_INPUT"
    deep = "local t = {} local top = t for i = 1, 100 do t[1] = {} t = t[1] end return top"
    assert run(deep).code.name == "BAD_RESULT"


@pytest.mark.parametrize(
    "document",
    [b"", b"[1,]", b'{"a"}', b'{"a":1,}', b"[01]", b"truth", b'["\x01"]', b"[1] x", b'"\\x"', b"[1e]",
     b"[.5]", b"[+1]", b'"abc', b"[1 2]", b"1e999", b"\xff"],
)  # fmt: skip
def test_malformed_json_is_refused(document: bytes) -> None:
    answer = run("return {obj}", document)
    assert answer.code.name == "BAD_INPUT"
    assert answer.message.startswith(b"the object is not usable JSON: ")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("return {json.encode({b = 1, a = '<&>'})}", [r'{"a":"\u003c\u0026\u003e","b":1}']),
        ("return {json.encode({})}", ["null"]),
        ("return {json.encode(json.decode('[]'))}", ["[]"]),
        ("return {select('#', json.encode(print)), (select(2, json.encode(print)))}",
         [2, "a function cannot be written as JSON at $"]),
        ("return json.decode('{\"a\":[1,null,2]}')", {"a": [1, None, 2]}),
        ("return {#json.decode('[1,null,2]')}", [2]),
        ("return {#json.decode('[1,null,2]', {nulls = true})}", [3]),
        ("return {json.decode('[1,null]', {nulls = true})[2] == json.null}", [True]),
        ("return {json.decode('{\"a\":null}', {nulls = true}).a == json.null}", [True]),
        ("return {#json.decode('[1,null]', {nulls = false})}", [1]),
        ("return json.decode('[null,[null,2]]', {nulls = true})", [None, [None, 2]]),
        ("json.decode('[null]', {nulls = true}) return {#json.decode('[null]')}", [0]),
        ("return {json.decode('{') == nil}", [True]),
    ],
)  # fmt: skip
def test_the_json_of_scripts_is_gos(script: str, expected: object) -> None:
    assert json.loads(result(script)) == expected
