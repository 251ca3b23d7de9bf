"""The contents of a plane's folder, and the flags of its components."""

import base64
import re
import socket
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from localcluster import flags
from localcluster.build import MULTICALL, Binaries
from localcluster.errors import ClusterError
from localcluster.flags import Layout
from localcluster.kubeconfig import GROUPS
from localcluster.ports import free_ports
from localcluster.startup import absolute, command_lines, token_of, write_files
from localcluster.state import PlaneState, ProcessState, read_state, state_file, write_state


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path, tmp_path / "data", 1001, 1002, 1003)


def binaries() -> Binaries:
    return Binaries(**{n.replace("-", "_"): Path("/bin") / n for n in (*MULTICALL, "kwok")})


def test_a_folder_that_cannot_be_made_is_reported_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClusterError, match=r"file/plane cannot be made \(Not a directory\)"):
        absolute(tmp_path / "file" / "plane")


def test_kubeconfigs_are_private_and_carry_the_authority(layout: Layout) -> None:
    tokens = write_files(layout)
    for user in GROUPS:
        path = layout.kubeconfig(user)
        assert path.stat().st_mode & 0o077 == 0
        config = yaml.safe_load(path.read_text())
        assert config["users"][0]["user"]["token"] == tokens[user] == token_of(layout, user)
        cluster = config["clusters"][0]["cluster"]
        assert cluster["server"] == "https://127.0.0.1:1003"
        authority = base64.b64decode(cluster["certificate-authority-data"])
        assert authority == (layout.directory / "pki" / "ca.crt").read_bytes()
    with pytest.raises(KeyError):
        token_of(layout, "nobody")


def test_the_serving_certificate_is_signed_for_this_machine(layout: Layout) -> None:
    write_files(layout)
    pki = layout.directory / "pki"
    authority = x509.load_pem_x509_certificate((pki / "ca.crt").read_bytes())
    serving = x509.load_pem_x509_certificate((pki / "apiserver.crt").read_bytes())
    serving.verify_directly_issued_by(authority)
    names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "127.0.0.1" in {str(a) for a in names.get_values_for_type(x509.IPAddress)}
    assert {p.name for p in pki.iterdir() if p.stat().st_mode & 0o077} == set()


def test_nothing_listens_elsewhere_than_on_this_machine(layout: Layout) -> None:
    lines = command_lines(layout, binaries(), {})
    text = " ".join(f for line in lines.values() for f in line)
    assert "=0.0.0.0" not in text
    assert "//0.0.0.0" not in text
    assert "--bind-address=127.0.0.1" in lines["kube-apiserver"]
    for name in ("kube-controller-manager", "kube-scheduler"):
        assert "--secure-port=0" in lines[name]


def test_extra_flags_come_last(layout: Layout) -> None:
    lines = command_lines(layout, binaries(), {"kube-apiserver": ("--watch-cache=false",)})
    assert lines["kube-apiserver"][-1] == "--watch-cache=false"
    assert "--watch-cache=false" not in lines["etcd"]


def test_the_audit_log_blocks_and_is_not_rotated(layout: Layout) -> None:
    line = command_lines(layout, binaries(), {})["kube-apiserver"]
    assert "--audit-log-mode=blocking" in line
    assert "--audit-log-maxsize=1000000" in line


def test_every_stage_names_a_node_or_a_pod_and_does_something() -> None:
    text = (flags.HERE / "kwok" / "stages.yaml").read_text()
    stages = list(yaml.safe_load_all(text))
    assert len({s["metadata"]["name"] for s in stages}) == len(stages)
    for stage in stages:
        assert stage["spec"]["resourceRef"]["kind"] in {"Node", "Pod"}
        assert stage["spec"]["next"]
    documented = set(re.findall(r"^#\s+(sim\.moonshift\.dev/[a-z-]+)", text, re.MULTILINE))
    assert documented == set(re.findall(r'\["(sim\.moonshift\.dev/[a-z-]+)"\]', text))


def test_the_audit_policy_records_the_requests_that_invariants_need() -> None:
    policy = yaml.safe_load((flags.HERE / "audit-policy.yaml").read_text())
    whole = [r for r in policy["rules"] if r["level"] == "RequestResponse"]
    groups = {entry["group"] for rule in whole for entry in rule["resources"]}
    assert {"rollouts.kruise.io", "apps", "networking.istio.io", "discovery.k8s.io"} <= groups
    assert policy["rules"][-1] == {"level": "Metadata"}


def test_ports_are_distinct_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))


def test_state_survives_being_written(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    state = PlaneState(
        etcd_port=1,
        etcd_peer_port=2,
        api_port=3,
        data="/d",
        kubectl="/k",
        programs={"etcd": ("/bin/etcd", "--x")},
        processes={"etcd": ProcessState(pid=4, started_at=5)},
    )
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    assert [p.name for p in tmp_path.iterdir()] == [state_file(tmp_path).name]
