from pathlib import Path

from controller.cli.script_tools.script_folders import asking_subjects_in, subject_at, subjects_in
from tests.unit.cli_scripts.folders import make_folder


def test_every_script_of_a_folder_is_found_and_output_of_convert_is_none(tmp_path: Path) -> None:
    script = make_folder(tmp_path, one={})
    (script.parent / "testdata" / "one_obj.lua").write_text("steps = {}")
    ingress = tmp_path / "trafficrouting_ingress"
    (ingress / "testdata" / "nginx").mkdir(parents=True)
    (ingress / "nginx.lua").write_text("return {}")
    (ingress / "testdata" / "nginx" / "a.yaml").write_text("")
    (ingress / "testdata" / "nginx_b.yaml").write_text("")
    (ingress / "testdata" / "mse_c.yaml").write_text("")
    of_kind, of_class = subjects_in(tmp_path)
    assert (of_kind.group, of_kind.kind) == ("gateway.example.com", "TrafficLane")
    assert [path.name for path in of_kind.cases()] == ["one.yaml"]
    assert of_class.class_type == "nginx"
    assert [path.name for path in of_class.cases()] == ["nginx_b.yaml", "a.yaml"]


def test_a_script_anywhere_serves_any_reference(tmp_path: Path) -> None:
    path = tmp_path / "mine.lua"
    path.write_text("")
    subject = subject_at(path)
    assert (subject.group, subject.kind, subject.class_type) == ("", "", "")
    assert subject.cases() == ()


def test_scripts_that_ask_are_found_by_their_folders_and_are_no_gateways(tmp_path: Path) -> None:
    for does in ("source", "check", "target"):
        folder = tmp_path / does / "testdata" / "lab"
        folder.mkdir(parents=True)
        (tmp_path / does / "lab.lua").write_text("return {}")
        (folder / "one.yaml").write_text("")
    found = asking_subjects_in(tmp_path)
    assert [(subject.name, subject.does) for subject in found] == [
        ("check/lab", "check"),
        ("source/lab", "source"),
        ("target/lab", "target"),
    ]
    assert [path.name for path in found[0].cases()] == ["one.yaml"]
    assert asking_subjects_in(tmp_path / "check") == found[:1]
    assert subjects_in(tmp_path) == ()
