"""A quantity (`500m`, `1Gi`) with the fields that Go's `resource.Quantity` has after it was read.

Invariant: the same number, scale, format and remembered text as Kubernetes' own parser gives. A quantity that the
parser keeps as a big decimal (`1.5Gi`, more than 18 digits) is not known here.
"""

import re
from typing import NamedTuple

_TEXT = re.compile(r"([+-]?)0*(\d*)(?:\.(\d*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_DECIMAL = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DIGITS, _SMALLEST_SCALE, _MOST = 18, -9, 2**63 - 1


class GoQuantity(NamedTuple):
    """`value` times ten to the power of `scale`; `text` is empty if Go would write the number again."""

    value: int
    scale: int
    text: str
    format: str


def go_quantity(written: str) -> GoQuantity | None:
    """Read a quantity; None if it is none, or one that Go keeps as a big decimal."""
    if written == "0":
        return GoQuantity(0, 0, written, "DecimalSI")
    parts = _TEXT.fullmatch(written)
    if parts is None or not (parts[2] or parts[3] or "0" in written):
        return None
    whole, part, suffix = parts[2] or "0", parts[3] or "", parts[4] or ""
    sign = -1 if parts[1] == "-" else 1
    if suffix in _BINARY:
        return _binary(sign, whole, part, suffix, written)
    power = _DECIMAL.get(suffix)
    format_ = "DecimalSI" if power is not None else "DecimalExponent"
    scale = (int(suffix[1:]) if power is None else power) - len(part)
    digits = whole + part
    if len(digits) > _DIGITS or scale < _SMALLEST_SCALE:
        return None
    canonical = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return GoQuantity(sign * int(digits), scale, written if canonical else "", format_)


def _binary(sign: int, whole: str, part: str, suffix: str, written: str) -> GoQuantity | None:
    power = _BINARY[suffix]
    value = int(whole) << power
    if part or 14 - len(whole) - power * 3 // 10 < 0 or value > _MOST:
        return None
    canonical = int(whole) & 7 != 0
    return GoQuantity(sign * value, 0, written if canonical else "", "BinarySI")
