"""YAML is read as kubectl reads it, and written YAML can be read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.cli.script_tools.yaml_text import read_yaml, write_yaml

_PLAIN = st.text("0123456789+-_.:eExXobnyYaAfF=~<>[]{},# \t", max_size=12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e2", 100), ("1.0e2", 100), ("12e03", 12000), ("1.5e+3", 1500), (".5", 0.5), ("08", 8),
        ("017", 15), ("0o17", 15), ("0x1F", 31), ("-0b101", -5), ("1_000", 1000), ("+7", 7),
        ("9007199254740993", 9007199254740993),
        ("22:22", "22:22"), ("190:20:30", "190:20:30"), ("1:30.5", "1:30.5"), ("=", "="),
        ("2020-01-01", "2020-01-01"), ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("1.2.3", "1.2.3"), ("-", "-"), (".", "."), ("0x", "0x"), ("10.0.0.0/8", "10.0.0.0/8"),
        ("yes", True), ("off", False), ("~", None), ("''", ""),
    ],
)  # fmt: skip
def test_a_scalar_is_read_as_the_api_server_would_get_it(text: str, value: object) -> None:
    found = read_yaml(f"a: [{text}]") if text != "-" else {"a": [text]}
    assert found == {"a": [value]}


def test_keys_are_text() -> None:
    text = "{80: a, on: b, 1e2: c, x: {~: d}}"
    assert read_yaml(text) == {"80": "a", "true": "b", "100.0": "c", "x": {"null": "d"}}


@pytest.mark.parametrize("text", ["a: 1\n---\n", "---\na: 1\n", "# only\n---\na: 1\n...\n"])
def test_marks_around_the_one_document_do_no_harm(text: str) -> None:
    assert read_yaml(text) == {"a": 1}


def test_an_alias_repeats_its_value() -> None:
    assert read_yaml("{a: &x {n: 1}, b: *x, c: {<<: *x, m: 2}}") == {
        "a": {"n": 1},
        "b": {"n": 1},
        "c": {"n": 1, "m": 2},
    }


@pytest.mark.parametrize("repeated", ["[*l, *l, *l, *l]", "{<<: [*l, *l, *l, *l]}"])
def test_aliases_that_stand_for_more_than_memory_holds_are_refused_before_they_are_read(
    repeated: str,
) -> None:
    first = "&l0 {a: b}"
    lines = [f"- &l{n} {repeated.replace('*l', f'*l{n - 1}')}" for n in range(1, 40)]
    with pytest.raises(ValueError, match="its aliases stand for more than 1000000 values"):
        read_yaml("\n".join((f"- {first}", *lines)))


@pytest.mark.parametrize("text", ["a: 1\nb: &x [*x]", "\n&top {a: *top}"])
def test_an_alias_inside_its_own_anchor_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match="an alias stands inside its own anchor, in line 2"):
        read_yaml(text)


def test_a_second_document_is_not_lost_in_silence() -> None:
    with pytest.raises(ValueError, match="2 YAML documents where one is expected"):
        read_yaml("a: 1\n---\nb: 2\n")


@pytest.mark.parametrize("text", [".inf", "-.inf", ".nan"])
def test_values_without_a_json_form_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        read_yaml(f"a: {text}")


@given(_PLAIN)
def test_any_text_reads_back_as_text(text: str) -> None:
    assert read_yaml(write_yaml({"a": text, "b": [text]})) == {"a": text, "b": [text]}


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_reads_back_as_that_number(number: float) -> None:
    assert read_yaml(write_yaml({"a": number})) == {"a": number}
