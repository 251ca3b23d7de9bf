import json
from pathlib import Path
from typing import Any

import pytest

from controller.cli.kubeconfig import namespace_of
from controller.errors import BadConfiguration
from controller.kube.credentials import Source


def write(path: Path, current: str | None, **contexts: dict[str, Any] | None) -> str:
    entries = [{"name": name, "context": context} for name, context in contexts.items()]
    path.write_text(json.dumps({"current-context": current, "contexts": entries}))
    return str(path)


def test_the_current_contexts_namespace_is_the_default(tmp_path: Path) -> None:
    path = write(tmp_path / "one", "here", here={"namespace": "shop"}, there={"namespace": "x"})
    assert namespace_of(Source(kubeconfig=path)) == "shop"
    assert namespace_of(Source(kubeconfig=path, context="there")) == "x"


@pytest.mark.parametrize("context", [None, {}, {"namespace": ""}])
def test_without_a_namespace_it_is_default(tmp_path: Path, context: dict[str, Any] | None) -> None:
    path = write(tmp_path / "one", "here", here=context)
    assert namespace_of(Source(kubeconfig=path)) == "default"


def test_an_empty_file_means_default(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    assert namespace_of(Source(kubeconfig=str(tmp_path / "empty"))) == "default"


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    one = write(tmp_path / "one", "there", here={"namespace": "shop"})
    two = write(tmp_path / "two", "here", there={"namespace": "far"})
    assert namespace_of(Source(kubeconfig=f"{one}:{two}:{tmp_path / 'none'}")) == "far"


def test_an_unknown_context_is_named_with_those_there_are(tmp_path: Path) -> None:
    path = write(tmp_path / "one", "here", here={}, other={})
    with pytest.raises(BadConfiguration, match="no such context; it has: here, other"):
        namespace_of(Source(kubeconfig=path, context="nope"))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(BadConfiguration, match="/no/such/file does not exist"):
        namespace_of(Source(kubeconfig="/no/such/file"))


@pytest.mark.parametrize("text", ["{", "[1]", "contexts: 3"])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(BadConfiguration, match="bad cannot be read"):
        namespace_of(Source(kubeconfig=str(tmp_path / "bad")))


def test_in_a_pod_it_is_the_pods_own(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("shop\n")
    assert namespace_of(Source(service_account=str(tmp_path))) == "shop"
    assert namespace_of(Source(service_account=str(tmp_path / "none"))) == "default"
