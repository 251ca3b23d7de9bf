"""The certificates of the connection to the worker are signed by the present authority, not by an earlier one."""

from datetime import timedelta

import msgspec

from controller.certificates.authority import facts, issue, issued_by, new_authority
from controller.certificates.for_worker import CERTIFICATE_FILE, WORKER_SECRET, ensure_side
from controller.certificates.rotation import Bundle
from tests.component.certificates.doubles import NAMES, START, Secrets


def bundle() -> Bundle:
    authority = new_authority(START)
    return Bundle(authority, issue(authority, NAMES, START), changed_at=START)


async def served(secrets: Secrets, by: Bundle, days: int = 0) -> bytes:
    """The worker's certificate after a round."""
    now = START + timedelta(days=days)
    side = await ensure_side(secrets, WORKER_SECRET, by, NAMES, now, client=False)
    return side.files[CERTIFICATE_FILE]


async def test_a_certificate_of_another_authority_is_created_again() -> None:
    secrets, before, after = Secrets(), bundle(), bundle()
    first = await served(secrets, before)
    assert await served(secrets, before) == first
    assert issued_by(await served(secrets, after), after.authority.certificate)


async def test_a_certificate_is_created_again_in_time() -> None:
    secrets, ours = Secrets(), bundle()
    first = await served(secrets, ours)
    seen = facts(first)
    assert seen is not None
    left = (seen.not_after - START).days
    assert await served(secrets, ours, left // 2) == first
    assert await served(secrets, ours, left - 1) != first
    assert msgspec.structs.asdict(ours)["old_authority"] == b""
