"""Signatures against the vectors that AWS publishes (aws-sig-v4-test-suite), and against keys of the test."""

import pytest
from yarl import URL

from controller.outbound.signing import Signed, aws, by_hmac, region_of

KEYS = {
    "accessKeyID": "AKIDEXAMPLE",
    "secretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
}
AT = 1440938160
"""2015-08-30 12:36:00, the time of the suite."""
HOST = "https://example.amazonaws.com/"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("asked", "names", "signature"),
    [
        (
            Signed("GET", URL(HOST), {}, b""),
            "host;x-amz-date",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            Signed("GET", URL(HOST + "?Param2=value2&Param1=value1"), {}, b""),
            "host;x-amz-date",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            Signed("POST", URL(HOST), {}, b""),
            "host;x-amz-date",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            Signed("POST", URL(HOST), FORM, b"Param1=value1"),
            "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
)
def test_a_request_is_signed_as_the_suite_of_aws_says(
    asked: Signed, names: str, signature: str
) -> None:
    assert aws(asked, KEYS, "service", "us-east-1", AT) == {
        "X-Amz-Date": "20150830T123600Z",
        "Authorization": (
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            f"SignedHeaders={names}, Signature={signature}"
        ),
    }


def test_a_token_of_a_session_is_sent_and_signed() -> None:
    found = aws(
        Signed("GET", URL(HOST), {}, b""), {**KEYS, "sessionToken": "t"}, "s", "us-east-1", AT
    )
    assert found["X-Amz-Security-Token"] == "t"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token," in found["Authorization"]


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("monitoring.eu-central-1.amazonaws.com", "eu-central-1"),
        ("monitoring.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("amazonaws.com.example", ""),
    ],
)
def test_a_host_of_aws_has_its_region(host: str, region: str) -> None:
    assert region_of(URL(f"https://{host}/")) == region


def test_a_content_is_signed_as_webhooks_of_github_are() -> None:
    # The example of GitHub's page "Validating webhook deliveries".
    asked = Signed("POST", URL(HOST), {}, b"Hello, World!")
    found = by_hmac(asked, "It's a Secret to Everybody", "X-Hub-Signature-256")
    expected = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert found == {"X-Hub-Signature-256": f"sha256={expected}"}
