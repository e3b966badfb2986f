"""The outcome as JUnit XML: a suite for each kernel, a test for each budget of each cell."""

from xml.etree import ElementTree as ET

from tritonc.gate.gate_judgement import FAILED, NEW, SKIPPED, Check, GateJudgement
from tritonc.gate.report_text import one_line, shown_path, xml_text


def junit_report(judgement: GateJudgement) -> str:
    """Return the document."""
    root = ET.Element("testsuites", name="tritonc gate")
    suites: dict[str, list[Check]] = {}
    for check in judgement.checks:
        suites.setdefault(check.cell.kernel.name, []).append(check)
    for name, checks in suites.items():
        suite = ET.SubElement(root, "testsuite", name=xml_text(name))
        for check in checks:
            _add(suite, check, is_strict=judgement.is_strict)
        _count(suite)
    if judgement.missing and judgement.is_strict:
        suite = ET.SubElement(root, "testsuite", name="missing")
        for name, target, triton in judgement.missing:
            title = xml_text(f"{target} Triton {triton}")
            case = ET.SubElement(suite, "testcase", classname=xml_text(name), name=title)
            ET.SubElement(case, "failure", message="only the baseline has this", type="missing")
        _count(suite)
    _count(root)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ET.Element, check: Check, *, is_strict: bool) -> None:
    name, target, triton = check.cell.key
    case = ET.SubElement(
        suite,
        "testcase",
        classname=xml_text(f"{shown_path(check.path)}.{name}"),
        name=xml_text(f"{target} Triton {triton} {check.metric}"),
        file=xml_text(shown_path(check.path)),
        line=str(check.line),
    )
    message = xml_text(one_line(check.told))
    if check.is_bad or (is_strict and check.state in (NEW, SKIPPED)):
        tag = "error" if check.state == FAILED else "failure"
        broken = ET.SubElement(case, tag, message=message, type=check.metric.partition(".")[0])
        places = [f"{shown_path(check.path)}:{check.line}: {check.metric}: {check.told}"]
        broken.text = xml_text("\n".join(map(one_line, [*places, *map(str, check.lines)])))
    elif check.state in (NEW, SKIPPED):
        ET.SubElement(case, "skipped", message=message)


def _count(element: ET.Element) -> None:
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(plural, str(sum(case.find(tag) is not None for case in cases)))
