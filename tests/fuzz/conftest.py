"""At the end of a run: how many cases were tried, and what came of them."""

import pytest

from tests.fuzz.harness import COUNTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        terminalreporter.section("fuzzing")
    for name, answers in COUNTS.items():
        told = ", ".join(f"{count:,} {answer}" for answer, count in answers.most_common())
        terminalreporter.write_line(f"{name}: {answers.total():,} cases: {told}")
