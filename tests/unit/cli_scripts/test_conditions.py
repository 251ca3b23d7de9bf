import click
import pytest

from controller.api.rollout import HttpRouteMatch, PathMatch, ValueMatch
from controller.cli.script_tools.typed_matches import parse_match


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ua=pc", HttpRouteMatch(headers=(ValueMatch("Exact", "ua", "pc"),))),
        ("ua~=p.*=", HttpRouteMatch(headers=(ValueMatch("RegularExpression", "ua", "p.*="),))),
        ("query:a=1", HttpRouteMatch(query_params=(ValueMatch("Exact", "a", "1"),))),
        ("path:/x", HttpRouteMatch(path=PathMatch("PathPrefix", "/x"))),
        ("path:=/x", HttpRouteMatch(path=PathMatch("Exact", "/x"))),
        ("path:~=/x.*", HttpRouteMatch(path=PathMatch("RegularExpression", "/x.*"))),
        ("cookie:u", HttpRouteMatch(headers=(ValueMatch("Exact", "canary-by-cookie", "u"),))),
        (
            "a=1,method:GET",
            HttpRouteMatch(headers=(ValueMatch("Exact", "a", "1"),), method="GET"),
        ),
    ],
)
def test_conditions_are_read(text: str, match: HttpRouteMatch) -> None:
    assert parse_match(text) == match


@pytest.mark.parametrize("text", ["", "x", "=x", "query:x"])
def test_a_malformed_condition_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_match(text)
