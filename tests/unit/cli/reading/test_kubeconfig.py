from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.cli.reading.kubeconfig import namespace_of
from controller.kube.credentials import Source


def write(path: Path, current: str, **contexts: dict[str, Any] | None) -> str:
    entries = [
        {"name": name, "context": {"cluster": "c", **(context or {})}}
        for name, context in contexts.items()
    ]
    clusters = [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]
    tree = {"current-context": current, "contexts": entries, "clusters": clusters}
    path.write_bytes(msgspec.json.encode(tree))
    return str(path)


def test_the_current_contexts_namespace_is_the_default(tmp_path: Path) -> None:
    path = write(tmp_path / "one", "here", here={"namespace": "shop"}, there={"namespace": "x"})
    assert namespace_of(Source(kubeconfig=path)) == "shop"
    assert namespace_of(Source(kubeconfig=path, context="there")) == "x"


@pytest.mark.parametrize("context", [None, {"namespace": None}, {"namespace": ""}])
def test_without_a_namespace_the_default_one_is_used(
    tmp_path: Path, context: dict[str, Any] | None
) -> None:
    path = write(tmp_path / "one", "here", here=context)
    assert namespace_of(Source(kubeconfig=path)) == "default"


def test_in_a_pod_the_namespace_is_the_pods_own(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("shop\n")
    assert namespace_of(Source(service_account=str(tmp_path))) == "shop"
    assert namespace_of(Source(service_account=str(tmp_path / "none"))) == "default"
