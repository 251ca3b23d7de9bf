"""The controller's flags are read as a Go program reads them, so manifests of the original still work."""

import click
import pytest

from controller.__main__ import main


@pytest.mark.parametrize(
    ("written", "verbosity"),
    [((), 0), (("-v=4",), 4), (("-v", "4"), 4), (("-v4",), 4), (("--v=5",), 5), (("--v", "5"), 5)],
)
def test_the_detail_of_logs_is_read_in_every_spelling_of_go(
    written: tuple[str, ...], verbosity: int
) -> None:
    assert main.make_context("controller", list(written)).params["verbosity"] == verbosity


@pytest.mark.parametrize("name", ["leader-elect", "metrics-secure", "webhook-certs-in-secret"])
@pytest.mark.parametrize(("written", "read"), [("", True), ("=true", True), ("=false", False)])
def test_a_switch_may_say_its_value(name: str, written: str, read: bool) -> None:
    context = main.make_context("controller", [f"--{name}{written}"])
    assert context.params[name.replace("-", "_")] is read


def test_a_detail_that_is_no_number_is_refused_in_words() -> None:
    with pytest.raises(click.BadParameter, match="'much' is not a valid integer"):
        main.make_context("controller", ["-v=much"])
