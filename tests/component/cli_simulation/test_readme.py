"""The README's picture of a release is what `simulate` prints for `examples/first-rollout`."""

from pathlib import Path

from click.testing import CliRunner

from controller.cli.main import cli
from tests.unit.documents.pages import blocks_of

ROOT = Path(__file__).parents[3]
SHORTENED = "…"


def test_the_printed_release_is_the_output_of_simulate() -> None:
    arguments = ["simulate", "-f", str(ROOT / "examples" / "first-rollout")]
    output = CliRunner().invoke(cli, arguments, prog_name="moonshift").output
    printed = next(
        "\n".join(block.lines)
        for block in blocks_of(ROOT / "README.md")
        if block.lines and block.lines[0].startswith("Step 1: ")
    )
    pieces = [piece.strip("\n") for piece in printed.split(f"{SHORTENED}\n")]
    assert len(pieces) > 1
    at = 0
    for piece in pieces:
        assert piece in output[at:], output
        at = output.index(piece, at) + len(piece)
    assert output.endswith(f"{pieces[-1]}\n")
