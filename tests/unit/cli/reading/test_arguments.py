import click
import pytest

from controller.cli.reading.arguments import is_type, one_rollout, rollout_names


@pytest.mark.parametrize(
    "word",
    [
        "rollout",
        "rollouts",
        "ro",
        "Rollout",
        "rollouts.rollouts.kruise.io",
        "rollout.rollouts.kruise.io",
        "rollouts.v1beta1.rollouts.kruise.io",
        "rollouts.v1alpha1.rollouts.kruise.io",
    ],
)
def test_every_spelling_of_the_kind_names_a_rollout(word: str) -> None:
    assert is_type(word)
    assert rollout_names([f"{word}/web"]) == ("web",)
    assert rollout_names([word, "web", "api"]) == ("web", "api")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(["web"], ("web",), id="a bare name"),
        pytest.param(["rollout"], ("rollout",), id="a Rollout that is called rollout"),
        pytest.param(["rollout/web", "api"], ("web", "api"), id="mixed forms"),
        pytest.param(["web", "rollout/web"], ("web",), id="the same twice counts once"),
    ],
)
def test_names_are_read(words: list[str], names: tuple[str, ...]) -> None:
    assert rollout_names(words) == names


@pytest.mark.parametrize(
    "word", ["deployment/web", "rollouts.argoproj.io/web", "rollout/", "rollout/a/b"]
)
def test_a_target_that_is_no_rollout_is_refused(word: str) -> None:
    with pytest.raises(click.UsageError):
        rollout_names([word])


def test_an_empty_name_is_refused_before_it_names_all_rollouts() -> None:
    with pytest.raises(click.UsageError, match="the NAME is empty"):
        rollout_names([""])


def test_one_means_one() -> None:
    assert one_rollout(["rollout", "web"]) == "web"
    with pytest.raises(click.UsageError, match="one Rollout was expected, got 2"):
        one_rollout(["web", "api"])
