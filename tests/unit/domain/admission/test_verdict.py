"""The patch leads from the requested object to the stored object, and no answer is endless."""

import copy

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controller.api.jsontree import same
from controller.api.validation.findings import Fault, FieldError
from controller.domain.admission.verdict import (
    MOST_TEXTS,
    PatchOperation,
    in_one,
    json_patch,
    shown_warnings,
)

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(["a", "b"])),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "a/b", "m~n", ""]), inner, max_size=3)
    ),
    max_leaves=8,
)


def applied(document: object, operations: tuple[PatchOperation, ...]) -> object:
    """RFC 6902, as far as it is used."""
    document = copy.deepcopy(document)
    for operation in operations:
        value = msgspec.json.decode(operation.value) if bytes(operation.value) else None
        if not operation.path:
            document = value
            continue
        parts = operation.path.split("/")[1:]
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in parts]
        place = document
        for part in way:
            assert isinstance(place, dict)
            place = place[part]
        assert isinstance(place, dict)
        if operation.op == "remove":
            del place[last]
        else:
            assert (last in place) == (operation.op == "replace")
            place[last] = value
    return document


@given(VALUES, VALUES)
def test_the_patch_leads_there(before: object, after: object) -> None:
    assert same(applied(before, json_patch(before, after)), after)


@given(VALUES)
def test_no_change_is_an_empty_patch(value: object) -> None:
    assert json_patch(value, copy.deepcopy(value)) == ()


def test_only_changed_places_are_named() -> None:
    before = {"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"paused": False}}
    after = {"metadata": {"name": "x"}, "spec": {"paused": True}}
    operations = json_patch(before, after)
    assert [(one.op, one.path) for one in operations] == [
        ("remove", "/metadata/labels"),
        ("replace", "/spec/paused"),
    ]
    assert msgspec.json.encode(operations[0]) == b'{"op":"remove","path":"/metadata/labels"}'


def test_an_answer_names_the_first_texts_and_how_many_more_there_are() -> None:
    texts = tuple(map(str, range(MOST_TEXTS)))
    assert shown_warnings(()) == ()
    assert shown_warnings(texts) == texts
    assert shown_warnings((*texts, "a", "b")) == (*texts, "and 2 more")
    findings = tuple(FieldError("spec", Fault.INVALID, text) for text in (*texts, "a", "b"))
    assert in_one(findings[:1]) == str(findings[0])
    assert in_one(findings).endswith(f"{findings[MOST_TEXTS - 1]}, and 2 more]")
