"""The rules of tests/conftest.py, tried on test suites of a few lines."""

from pathlib import Path

import pytest

CONFTEST = (Path(__file__).parents[1] / "conftest.py").read_text()
ON_THIS_MACHINE = """
CAPABILITIES.clear()
CAPABILITIES["spark"] = lambda: None
CAPABILITIES["kafka"] = lambda: "no broker found"
"""
SUITE = """
import pytest

def test_plain() -> None: ...

@pytest.mark.needs("spark")
def test_spark() -> None: ...

@pytest.mark.needs("spark", "kafka")
def test_both() -> None: ...
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("ELASTREAM_REQUIRE", raising=False)
    pytester.makeconftest(CONFTEST + ON_THIS_MACHINE)
    pytester.makeini("[pytest]\nmarkers =\n    needs(*capabilities): what the test needs")
    pytester.makepyfile(SUITE)
    return pytester


def test_a_test_that_needs_what_the_machine_lacks_is_skipped_with_the_reason(suite: pytest.Pytester) -> None:
    result = suite.runpytest("-ra")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*needs kafka: no broker found"])


def test_a_required_capability_that_is_missing_fails_the_test(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELASTREAM_REQUIRE", "spark, kafka")
    result = suite.runpytest()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ELASTREAM_REQUIRE names 'kafka', which this machine lacks: no broker found"])


def test_a_required_capability_that_is_there_changes_nothing(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELASTREAM_REQUIRE", "spark")
    suite.runpytest().assert_outcomes(passed=2, skipped=1)


def test_an_unknown_required_capability_stops_the_run_and_names_the_nearest(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELASTREAM_REQUIRE", "spark,kafak")
    result = suite.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: ELASTREAM_REQUIRE: no capability 'kafak'; did you mean 'kafka'?"])


def test_an_unknown_capability_in_needs_stops_the_run_and_names_the_test(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_typo="import pytest\n@pytest.mark.needs('sprak')\ndef test_it() -> None: ...")
    result = suite.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: test_typo.py::test_it: no capability 'sprak'; did you mean 'spark'?"])


def test_a_capability_selects_the_tests_that_need_it(suite: pytest.Pytester) -> None:
    suite.runpytest("-m", "spark").assert_outcomes(passed=1, skipped=1, deselected=1)


def test_a_capability_as_a_marker_is_a_need(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_mark="import pytest\n@pytest.mark.kafka\ndef test_it() -> None: ...")
    suite.runpytest("test_mark.py").assert_outcomes(skipped=1)


def test_fixtures_of_a_skipped_test_are_not_made(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_fixture="""
import pytest

@pytest.fixture(autouse=True)
def broker() -> None:
    raise AssertionError

@pytest.mark.needs("kafka")
def test_it() -> None: ...
"""
    )
    suite.runpytest("test_fixture.py").assert_outcomes(skipped=1)


def test_a_test_that_waits_for_ever_fails_and_the_next_one_runs(suite: pytest.Pytester) -> None:
    suite.makeconftest(CONFTEST + ON_THIS_MACHINE + "LONGEST_S = 0.2")
    suite.makepyfile(test_wait="import time\ndef test_long(): time.sleep(60)\ndef test_short(): ...")
    result = suite.runpytest("test_wait.py")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Failed: not done after 0.2 s: test_wait.py::test_long"])
