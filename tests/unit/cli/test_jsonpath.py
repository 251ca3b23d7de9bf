"""The part of kubectl's JSONPath that scripts use; anything else is refused in words."""

import click
import pytest

from controller.cli.jsonpath import filled

DATA = {
    "items": [
        {"name": "a", "steps": 2, "by.whom": "ann", "done": True},
        {"name": "b", "steps": 3, "by.whom": "bob", "done": False},
    ],
    "summary": {"state": "StepPaused"},
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.summary.state}", "StepPaused"),
        ("{$.summary.state}", "StepPaused"),
        ("{.items[*].name}", "a b"),
        ("{.items[1].name}", "b"),
        ("{.items[-1].steps}", "3"),
        ("{.items[0]['by.whom']}", "ann"),
        ('{.items[?(@.name=="b")].done}', "false"),
        ("{.summary}", '{"state":"StepPaused"}'),
        ("{.summary.*}", "StepPaused"),
        ('step {.items[0].steps}{"\\n"}', "step 2\n"),
        ("{.nobody.there}", ""),
        ("{.items[7].name}", ""),
        ("{.items[-3].name}", ""),
        ("{.summary[0]}", ""),
        ("{.summary.state.more}", ""),
    ],
)
def test_a_path_leads_to_its_values(template: str, text: str) -> None:
    assert filled(template, DATA) == text


@pytest.mark.parametrize(
    "template",
    [
        *("{range .items[*]}", "{.items[0:2]}", "{..name}", ".summary"),
        *("{.summary", ".summary}", "{.summary}{.items[0].name", "{{.summary}}"),
        f"{{.items[{'9' * 5000}]}}",
    ],
)
def test_an_unknown_path_syntax_is_refused(template: str) -> None:
    with pytest.raises(click.UsageError, match="jsonpath"):
        filled(template, DATA)
