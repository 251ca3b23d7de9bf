"""Kubeconfigs are read as kubectl reads them."""

from pathlib import Path

import pytest

from controller.errors import BadConfiguration
from controller.kube.kubeconfig import choose, read

BOTH = """
current-context: {current}
clusters:
- name: red
  cluster: {{server: "https://{host}", certificate-authority: pki/ca.crt}}
users:
- name: jane
  user: {{client-certificate: jane.crt, client-key: /etc/jane.key, tokenFile: ../token, token: null}}
contexts:
- name: {context}
  context: {{cluster: red, user: jane, namespace: {context}-space}}
"""


def write(path: Path, current: str, context: str, host: str = "one") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(BOTH.format(current=current, context=context, host=host))
    return path


def test_the_first_file_that_has_an_entry_wins_whole(tmp_path: Path) -> None:
    one = write(tmp_path / "a" / "one", "", "first", "one")
    two = write(tmp_path / "b" / "two", "second", "second", "two")
    config = read(f"{tmp_path / 'none'}:{one}:{two}:{one}")
    assert config.current_context == "second"  # the first that sets it
    chosen = choose(config, None)
    assert chosen.namespace == "second-space"
    assert (
        chosen.cluster.server == "https://one"
    )  # `red` of the first file, for a context of the second
    assert chosen.cluster.certificate_authority == str(tmp_path / "a" / "pki" / "ca.crt")


def test_a_relative_path_belongs_to_the_directory_of_its_file(tmp_path: Path) -> None:
    user = choose(read(str(write(tmp_path / "a" / "one", "x", "x"))), None).user
    assert user.client_certificate == str(tmp_path / "a" / "jane.crt")
    assert user.client_key == "/etc/jane.key"
    assert Path(user.token_file).resolve() == tmp_path / "token"


@pytest.mark.parametrize(
    ("command", "expected"),
    [("bin/login", "{}/bin/login"), ("./login", "{}/login"), ("aws", "aws"), ("/x/y", "/x/y")],
)
def test_a_log_in_program_with_a_path_belongs_there_too(
    tmp_path: Path, command: str, expected: str
) -> None:
    path = tmp_path / "config"
    path.write_text(f"users: [{{name: u, user: {{exec: {{command: {command}}}}}}}]")
    program = read(str(path)).users["u"].exec
    assert program is not None
    assert program.command == expected.format(tmp_path)


def test_cluster_and_user_can_be_named_beside_the_context(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "current-context: here\n"
        "contexts: [{name: here, context: {cluster: a, user: jane, namespace: shop}}]\n"
        "clusters: [{name: a, cluster: {server: a}}, {name: b, cluster: {server: b}}]\n"
        "users: [{name: jane, user: {token: t1}}, {name: joe, user: {token: t2}}]\n"
    )
    config = read(str(path))
    chosen = choose(config, None, cluster="b", user="joe")
    assert (chosen.cluster.server, chosen.user.token, chosen.namespace) == ("b", "t2", "shop")
    without = choose(config, "here", user="joe")
    assert (without.cluster.server, without.user.token) == ("a", "t2")


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (("nope", None, None), "--context nope: .* has no such context; it has: x"),
        ((None, "nope", None), "--cluster nope: .* it has: red"),
        ((None, None, "nope"), "--user nope: .* it has: jane"),
    ],
)
def test_a_missing_context_is_named_with_the_existing_ones(
    tmp_path: Path, wish: tuple[str | None, str | None, str | None], text: str
) -> None:
    config = read(str(write(tmp_path / "one", "x", "x")))
    with pytest.raises(BadConfiguration, match=text):
        choose(config, *wish)


def test_without_a_current_context_nothing_is_guessed(tmp_path: Path) -> None:
    config = read(str(write(tmp_path / "one", "", "x")))
    with pytest.raises(BadConfiguration, match=r"no current context: give --context.*has: x"):
        choose(config, None)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(BadConfiguration, match="/no/such/file does not exist"):
        read("/no/such/file")


@pytest.mark.parametrize(
    "text", ["{", "[1]", "contexts: 3", "users: [{name: u, user: {token: 3}}]"]
)
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(BadConfiguration, match="bad cannot be read"):
        read(str(tmp_path / "bad"))


def test_a_broken_file_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text('users:\n- name: u\n  user: {token: "s3cret", : }}\n')
    with pytest.raises(BadConfiguration, match="line 3") as refused:
        read(str(tmp_path / "bad"))
    assert "s3cret" not in str(refused.value)


def test_two_entries_of_one_name_in_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "twice").write_text("users: [{name: u}, {name: u}]")
    with pytest.raises(BadConfiguration, match="two entries of the name u"):
        read(str(tmp_path / "twice"))
