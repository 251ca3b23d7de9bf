"""The parts sent with a script: its modules, the modules that these use, and the text of another script."""

from pathlib import Path

import pytest

from controller.domain.traffic.plan.header import GroupKind
from controller.scripts.lookup import MissingScript, Script, ScriptLibrary
from controller.scripts.modules import Module, Modules, UnknownModule

TCP = "gateway.networking.k8s.io/TCPRoute/trafficRouting.lua"
TLS = "gateway.networking.k8s.io/TLSRoute/trafficRouting.lua"
MODULES = Modules({"a": b"return {}", "b": b"--@use a\nreturn {}", "c": b"--@use b,a\nreturn {}"})
LIBRARY = ScriptLibrary(
    {
        TCP: b"--@name TCP\n--@can weight\n--@announce\n--@use b\nreturn {}",
        TLS: b"--@name TLS\n--@can weight\n--@same-as gateway.networking.k8s.io/TCPRoute\n",
        "x.io/Lost/trafficRouting.lua": b"--@same-as x.io/Nobody\n",
    },
    MODULES,
)
KEY = "lua.traffic.routing.Lane.example.com"


def resolved(text: str) -> Script | MissingScript:
    return LIBRARY.resolve_custom("example.com", "Lane", "auto", {KEY: text})


def test_a_module_comes_after_its_dependencies_which_stay_hidden_from_the_script() -> None:
    assert MODULES.asked_for(("c",)) == (
        Module("a", b"return {}", hidden=True),
        Module("b", b"--@use a\nreturn {}", hidden=True),
        Module("c", b"--@use b,a\nreturn {}"),
    )
    asked = MODULES.asked_for(("c", "a"))
    assert not isinstance(asked, UnknownModule)
    assert [(m.name, m.hidden) for m in asked] == [("a", False), ("b", True), ("c", False)]
    assert MODULES.asked_for(()) == ()


def test_a_script_of_the_config_map_gets_its_modules() -> None:
    found = resolved("--@use a\nreturn {}")
    assert isinstance(found, Script)
    assert (found.name, found.source) == (KEY, "configMap")
    assert [module.name for module in found.modules] == ["a"]


def test_an_unknown_module_is_refused_in_words() -> None:
    assert resolved("--@use a, routers\nreturn {}") == MissingScript(
        f"the script {KEY} cannot be used: it asks for the module routers (--@use), which this version does not have; "
        "it has a, b, c"
    )
    empty = ScriptLibrary({}).configured(KEY, "--@use a\n")
    assert isinstance(empty, MissingScript)
    assert empty.reason.endswith("it has no module at all")


def test_the_hash_is_that_of_script_modules_and_header_together() -> None:
    texts = ["--@use a\nreturn {}", "--@use b\nreturn {}", "--@use a, b\nreturn {}", "return {}"]
    found = [resolved(text) for text in texts]
    other = ScriptLibrary({}, Modules({"a": b"return {1}"})).configured(KEY, texts[0])
    alias = LIBRARY.resolve_custom("gateway.networking.k8s.io", "TLSRoute", "auto", None)
    target = LIBRARY.resolve_custom("gateway.networking.k8s.io", "TCPRoute", "auto", None)
    scripts = [item for item in (*found, other, alias, target) if isinstance(item, Script)]
    assert len({script.sha256 for script in scripts}) == 7


def test_a_script_may_be_the_same_as_another_except_its_header() -> None:
    alias = LIBRARY.resolve_custom("gateway.networking.k8s.io", "TLSRoute", "auto", None)
    assert isinstance(alias, Script)
    assert (alias.name, alias.text.splitlines()[-1]) == (TCP, b"return {}")
    assert [module.name for module in alias.modules] == ["a", "b"]
    assert alias.header.name == "TLS"
    assert not alias.header.announces
    assert alias.header.same_as == GroupKind("gateway.networking.k8s.io", "TCPRoute")
    own = resolved("--@same-as gateway.networking.k8s.io/TCPRoute\n")
    assert isinstance(own, Script)
    assert own.text == alias.text


def test_a_script_that_is_the_same_as_nothing_is_refused_in_words() -> None:
    found = LIBRARY.resolve_custom("x.io", "Lost", "auto", None)
    assert isinstance(found, MissingScript)
    assert "the same as x.io/Nobody (--@same-as), for which no script is packaged" in found.reason
    assert TLS not in {script.name for script in LIBRARY.packaged}


def test_the_packaged_library_has_all_that_its_modules_and_scripts_ask_for() -> None:
    library = ScriptLibrary.read()
    names = {path.stem for path in (Path("lua_configuration") / "library").glob("*.lua")}
    modules = Modules.read(Path("lua_configuration"))
    assert set(modules.names) == names
    for name in names:
        asked = modules.asked_for((name,))
        assert not isinstance(asked, UnknownModule)
        assert asked[-1].name == name
    assert not any(script.name.startswith("library/") for script in library.packaged)


@pytest.mark.parametrize("text", ["--@use", "--@use  ,", "return '--@use a'"])
def test_a_header_that_asks_for_nothing_asks_for_nothing(text: str) -> None:
    found = resolved(text)
    assert isinstance(found, Script)
    assert found.modules == ()
