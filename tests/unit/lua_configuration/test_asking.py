"""Packaged scripts that ask: each says what it needs, and has cases from its vendor's documentation."""

import pytest

from controller.cli.script_tools.exchange_cases import AskingCase, read_exchanges
from controller.cli.script_tools.script_folders import Subject, asking_subjects_in
from controller.domain.exchange.answer import Does
from tests.unit.lua_configuration.asking_page import DOCUMENT, with_tables
from tests.unit.lua_configuration.cases import FOLDER

SUBJECTS = asking_subjects_in(FOLDER)
IDS = [subject.name for subject in SUBJECTS]
LEAST_CASES = 3
ANY_STATUS = frozenset({"http", "flagger-webhook", "rollout-of-another-service"})
"""Checks to which every status is an answer."""


def cases_of(subject: Subject) -> list[AskingCase]:
    found = [read_exchanges(path) for path in subject.cases()]
    assert all(isinstance(case, AskingCase) for case in found), found
    return [case for case in found if isinstance(case, AskingCase)]


def test_each_of_the_three_kinds_is_packaged() -> None:
    assert {subject.does for subject in SUBJECTS} == set(Does)


@pytest.mark.parametrize("subject", SUBJECTS, ids=IDS)
def test_a_script_that_asks_says_what_it_is_and_where_its_requests_are_described(
    subject: Subject,
) -> None:
    header = subject.read().header
    assert header.name
    assert header.does == subject.does
    assert header.asks
    assert header.docs.startswith("https://")


@pytest.mark.parametrize("subject", SUBJECTS, ids=IDS)
def test_every_case_names_the_page_that_it_is_from(subject: Subject) -> None:
    assert len(cases_of(subject)) >= LEAST_CASES
    for path in subject.cases():
        assert path.read_text().startswith("docs: https://"), path


@pytest.mark.parametrize(
    "subject",
    [one for one in SUBJECTS if one.path.stem not in ANY_STATUS],
    ids=lambda one: one.name,
)
def test_every_script_has_a_case_of_an_answer_that_is_an_error(subject: Subject) -> None:
    assert any("error" in case.expect for case in cases_of(subject))


@pytest.mark.parametrize(
    "subject", [one for one in SUBJECTS if one.does == Does.SOURCE], ids=lambda one: one.name
)
def test_a_source_has_cases_without_data_with_gaps_and_with_several_series(
    subject: Subject,
) -> None:
    cases = cases_of(subject)
    assert any(case.expect == {"noData": True} for case in cases)
    errors = [str(case.expect.get("error", "")) for case in cases]
    assert any("series or rows" in words for words in errors) or subject.path.stem == "kayenta"
    assert any(" says: " in words or "no JSON" in words for words in errors)
    assert any(" answered " in words for words in errors)


@pytest.mark.parametrize(
    "subject", [one for one in SUBJECTS if one.does == Does.TARGET], ids=lambda one: one.name
)
def test_a_target_waits_as_long_as_its_service_says(subject: Subject) -> None:
    assert any("again" in case.expect for case in cases_of(subject))


def test_the_tables_of_packaged_scripts_agree_with_them() -> None:
    text = DOCUMENT.read_text()
    assert text == with_tables(text), "docs/packaged-scripts.md is out of date: make generate"


def test_what_to_paste_for_a_source_is_complete() -> None:
    page = DOCUMENT.read_text()
    for subject in SUBJECTS:
        if subject.does != Does.SOURCE:
            continue
        header = subject.read().header
        section = page.partition(f"\n### {header.name}\n")[2].partition("\n### ")[0]
        assert f"script: {subject.path.stem}" in section
        assert "--analysis-allow" in section
        needed = [one.name for one in header.params if one.needed]
        assert all(f"{name}: " in section for name in needed)
        if any(one.needed for one in header.secrets):
            assert "moonshift.dev/send-to=" in section
