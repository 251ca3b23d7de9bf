"""A gate reaches the addresses that the administrator named, and nothing else."""

import pytest
from yarl import URL

from controller.errors import BadConfiguration
from controller.outbound.dns import Names
from controller.outbound.egress import (
    AllowList,
    Anywhere,
    CheckedResolver,
    Refused,
    api_server_addresses,
    forbidden_place,
    parse_allowed,
)

ALLOWED = AllowList(
    parse_allowed(
        (
            "http://prometheus.monitoring:9090",
            "https://*.example.com",
            "shop=http://metrics.shop",
            "http://10.0.0.7:9090",
            "http://[::1]:9090",
        )
    )
)


@pytest.mark.parametrize(
    ("namespace", "url"),
    [
        ("shop", "http://prometheus.monitoring:9090/api/v1/query"),
        ("shop", "http://Prometheus.Monitoring.:9090/"),
        ("shop", "https://a.b.example.com/x"),
        ("shop", "http://metrics.shop/"),
        ("other", "http://10.0.0.7:9090"),
        ("other", "http://[::1]:9090"),
    ],
)
def test_an_address_that_was_named_may_be_asked(namespace: str, url: str) -> None:
    assert ALLOWED.refusal(namespace, URL(url)) == ""


@pytest.mark.parametrize(
    ("namespace", "url"),
    [
        ("shop", "http://prometheus.monitoring"),
        ("shop", "https://prometheus.monitoring:9090"),
        ("shop", "http://prometheus.monitoring.evil:9090"),
        ("shop", "https://example.com"),
        ("shop", "https://aexample.com"),
        ("shop", "http://a.example.com"),
        ("other", "http://metrics.shop/"),
        ("shop", "http://prometheus.monitoring@evil:9090/"),
        ("shop", "http://me:secret@prometheus.monitoring:9090/"),
        ("shop", "ftp://prometheus.monitoring:9090/"),
        ("shop", "/etc/passwd"),
        ("shop", "http://169.254.169.254/"),
    ],
)
def test_any_other_address_is_refused_in_words(namespace: str, url: str) -> None:
    assert ALLOWED.refusal(namespace, URL(url))


def test_a_wildcard_names_no_ip_address() -> None:
    wide = AllowList(parse_allowed(("http://*.1",)))
    assert wide.refusal("shop", URL("http://10.0.0.1"))


@pytest.mark.parametrize(
    "text", ["prometheus:9090", "http://", "http://host/path", "http://me@host", "a=b=c"]
)
def test_an_entry_that_is_no_address_stops_the_start(text: str) -> None:
    with pytest.raises(BadConfiguration, match="--analysis-allow"):
        parse_allowed((text,))
    with pytest.raises(BadConfiguration, match="--prometheus: "):
        parse_allowed((text,), "--prometheus")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("127.0.0.1", "this machine itself"),
        ("::1", "this machine itself"),
        ("::ffff:127.0.0.1", "this machine itself"),
        ("0.0.0.0", "this machine itself"),  # judged, not bound
        ("169.254.169.254", "a metadata service"),
        ("169.254.1.1", "a link-local address"),
        ("fe80::1%eth0", "a link-local address"),
        ("100.100.100.200", "a metadata service"),
        ("224.0.0.1", "a multicast or reserved address"),
        ("10.96.0.1", "the API server"),
        ("64:ff9b::a9fe:a9fe", "a metadata service"),
        ("2002:a9fe:a9fe::1", "an address of a tunnel"),
        ("2002:5db8:d822::1", "an address of a tunnel"),
        ("2001:0:a9fe:a9fe::1", "an address of a tunnel"),
        ("64:ff9b:1::a9fe:a9fe", "an address of a tunnel"),
        ("::a9fe:a9fe", "an address of a tunnel"),
        ("64:ff9b::a00:7", "a private address behind a translator"),
        ("64:ff9b::7f00:1", "this machine itself"),
        ("fec0::1", "a site-local address"),
        ("192.0.0.1", "an address for a special purpose"),
        ("198.18.0.1", "an address for a special purpose"),
        ("0.1.2.3", "an address for a special purpose"),
        ("255.255.255.255", "a multicast or reserved address"),
        ("168.63.129.16", "a metadata service"),
        ("fd00:ec2::23", "a metadata service"),
        ("fd00:0ec2:0::fd", "a metadata service"),
        ("::ffff:168.63.129.16", "a metadata service"),
        ("192.0.0.8", "an address for a special purpose"),
        ("192.88.99.1", "an address for a special purpose"),
        ("3fff::1", "an address for a special purpose"),
        ("127.1", "an address in a short or an old form"),
        ("0x7f000001", "an address in a short or an old form"),
        ("017700000001", "an address in a short or an old form"),
        ("fd20:ce::254", "a metadata service"),
        ("100.64.0.7", ""),
        ("fd12::7", ""),
        ("::ffff:10.0.0.7", ""),
        ("2606:4700::1111", ""),
        ("64:ff9b::5db8:d822", ""),
        ("10.0.0.7", ""),
        ("93.184.216.34", ""),
    ],
)
def test_places_that_no_name_may_lead_to(address: str, place: str) -> None:
    server = api_server_addresses("https://10.96.0.1:443", {})
    assert forbidden_place(address, server) == place


def test_the_api_server_is_known_by_its_service_too() -> None:
    found = api_server_addresses(
        "https://api.example:6443", {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    )
    assert found == {"api.example", "10.96.0.1"}


@pytest.mark.parametrize(
    ("server", "asked"),
    [
        ("https://[fd00:0:0::1]:443", "fd00::1"),
        ("https://10.96.0.1:443", "::ffff:10.96.0.1"),
    ],
)
def test_the_api_server_is_known_in_every_spelling(server: str, asked: str) -> None:
    assert forbidden_place(asked, api_server_addresses(server, {})) == "the API server"


async def test_a_name_of_the_api_server_is_known_in_every_spelling() -> None:
    server = api_server_addresses("https://API.example.:6443", {})
    resolver = CheckedResolver(Names(), AllowList(), server)
    with pytest.raises(Refused, match="is the API server"):
        resolver.check("api.example.", "10.0.0.1")
    await resolver.close()


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "content-length", "Transfer-Encoding", "Connection", "Proxy-Authorization", "TE"),
        *("X-Forwarded-Host", "Expect", "Upgrade", "Trailer", "Content-Type", " host"),
        *(":authority", "Transfer_Encoding", "X_Forwarded_Host", "Content-Length "),
        *(
            "Transfer-Encoding:chunked;",
            "X: y\r\nHost",
            "X Y",
            "",
            "X:",
            "H\u00f6st",
            "\u212aeep-Alive",
        ),
        *("Metadata-Flavor", "Metadata", "X-aws-ec2-metadata-token"),
    ],
)
def test_no_gate_says_where_a_message_goes_or_ends(name: str) -> None:
    assert ALLOWED.refuses_header(name)
    assert not Anywhere().refuses_header(name)


@pytest.mark.parametrize(
    "name", ["Authorization", "X-Scope-OrgID", "Accept", "Cookie", "THANOS-TENANT"]
)
def test_a_gate_may_say_who_asks(name: str) -> None:
    assert not ALLOWED.refuses_header(name)
