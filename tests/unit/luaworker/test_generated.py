"""The generated protocol modules agree with the .proto file."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_generated_modules_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "protos.generate", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
