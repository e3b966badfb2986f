"""Prints the covered share of statements and branches by folder, as a Markdown table."""

import json
import tempfile
from collections import Counter
from pathlib import PurePath

import coverage

DEPTH = 2
"""The number of folders of a path that name a row."""


def main() -> None:
    measured = coverage.Coverage()
    measured.load()
    found: dict[str, Counter[str]] = {}
    for path, numbers in _files(measured):
        folder = "/".join(PurePath(path).parts[:-1][:DEPTH])
        for row in (folder, "all"):
            found.setdefault(row, Counter()).update(numbers)
    print("| folder | statements | branches | run |\n|---|---:|---:|---:|")
    for row, sums in sorted(found.items(), key=lambda item: (item[0] == "all", item[0])):
        all_of_it = sums["num_statements"] + sums["num_branches"]
        run = sums["covered_lines"] + sums["covered_branches"]
        share = f"{100 * run / all_of_it:.0f} %" if all_of_it else ""
        print(f"| {row} | {sums['num_statements']} | {sums['num_branches']} | {share} |")


def _files(measured: coverage.Coverage) -> list[tuple[str, dict[str, int]]]:
    with tempfile.NamedTemporaryFile("r") as report:
        measured.json_report(outfile=report.name)
        files = json.load(report)["files"]
    return [(path, files[path]["summary"]) for path in sorted(files)]


if __name__ == "__main__":
    main()
