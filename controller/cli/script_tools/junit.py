"""Verdicts as JUnit XML, which build servers read.

Invariant: one test case per verdict, named as in the report; the file is complete before it replaces an older one.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

from controller.cli.script_tools.suite import Report

# XML 1.0 cannot express these, not even escaped.
_UNSAYABLE = {code: "?" for code in range(32) if code not in (9, 10, 13)}


def junit(reports: list[Report]) -> bytes:
    """The JUnit document of all verdicts."""
    root = ET.Element("testsuites", name="moonshift test-scripts")
    for report in reports:
        suite = ET.SubElement(
            root,
            "testsuite",
            name=_text(report.subject.name),
            tests=str(len(report.checks)),
            failures=str(report.failed),
            errors="0",
            skipped="0",
            time=f"{sum(check.seconds for check in report.checks):.3f}",
        )
        for check in report.checks:
            case = ET.SubElement(
                suite,
                "testcase",
                classname=_text(report.subject.name),
                name=_text(check.name or "test data"),
                time=f"{check.seconds:.3f}",
            )
            if check.problem:
                failure = ET.SubElement(case, "failure", message=_text(check.problem))
                failure.text = _text("\n".join(check.diff))
            if check.log:
                ET.SubElement(case, "system-out").text = _text("\n".join(check.log))
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _text(text: str) -> str:
    return text.translate(_UNSAYABLE)


def write_junit(path: Path, reports: list[Report]) -> None:
    """Write the document. Raises OSError."""
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(junit(reports))
    beside.replace(path)
