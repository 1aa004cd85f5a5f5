"""How an archive is cited: a CITATION.cff, and a README with the one command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version

MESSAGE = "If you use these results, please cite them as below."


def write_citation(name: str, about: str, authors: Sequence[str], licence: str | None) -> str:
    """A CITATION.cff, whose texts are JSON strings: YAML reads them as they are."""
    entries = [_author(author) for author in authors] or [f"  - name: {_quote(f'Those who ran {name}')}"]
    lines = [
        "cff-version: 1.2.0",
        f"message: {_quote(MESSAGE)}",
        "type: dataset",
        f"title: {_quote(f'{name}: runs, tables and report')}",
        *([f"abstract: {_quote(about)}"] if about else []),
        "authors:",
        *entries,
        *([f"license: {_quote(licence)}"] if licence else []),
        "references:",
        "  - type: software",
        "    title: Elastream",
        f"    version: {_quote(version('elastream'))}",
        "    license: Apache-2.0",
        "    authors:",
        "      - name: Elastream contributors",
    ]
    return "\n".join(lines) + "\n"


def write_readme(
    name: str, about: str, answer: str, versions: Mapping[str, str], left_out: Sequence[Mapping[str, str]],
    code: Sequence[str],
) -> str:  # fmt: skip
    """What lies there, and how it is run again."""
    lacking = [f"- {one['what']}: {one['why']}" for one in left_out] or ["- nothing"]
    commands = [
        f"    pip install 'elastream[lab]=={version('elastream')}'",
        f"    elastream bundle --check .{' --trust' if code else ''}",
    ]
    trust = f"`--trust` says that you have read the code of others, which runs then: {', '.join(code)}." if code else ""
    told = [
        f"# {name}", about, answer, "## Run it again", "With Python 3.11 or newer, in this folder:",
        "\n".join(commands),
        "Every run is run again and compared with the tables here, value by value. `requirements.txt` has the versions "
        "that they were made with. The plan alone: `elastream experiment run plan.yaml --out again`.",
        trust, "## What lies here",
        "- `plan.yaml`: what was run, with everything that it included\n"
        "- `runs/*/`: of each run its ticks, decisions and summary as Parquet, what it was and where it ran\n"
        "- `report.html`: what they say\n"
        "- `inputs/`: recorded loads and models that the plan reads; beside this file, code of others that it names\n"
        "- `MANIFEST.json`: a checksum for each file\n"
        "- `CITATION.cff`: how to cite it",
        "## Left out", "\n".join(lacking),
        "## Made with", ", ".join(f"{package} {number}" for package, number in versions.items()) or "unknown versions",
    ]  # fmt: skip
    return "\n\n".join(filter(None, told)) + "\n"


def _author(text: str) -> str:
    """`Given Family` as a person, everything else as a group."""
    given, _, family = text.strip().rpartition(" ")
    if not given:
        return f"  - name: {_quote(text.strip())}"
    return f"  - given-names: {_quote(given)}\n    family-names: {_quote(family)}"


def _quote(text: str) -> str:
    return json.dumps(" ".join(text.split()), ensure_ascii=False)
