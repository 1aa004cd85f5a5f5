"""What every test relies on: capabilities of the machine, an end, and property tests that run alike each time."""

import importlib.util
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cache

import pytest
from hypothesis import settings

from elastream.core.errors import suggestion
from elastream.core.sanitizer import use_pattern
from elastream.daemons.java import JavaNotFound, java_home
from elastream.development.kafka.jars import BROKER, lacking
from tests import users

# The same examples on every run and no time limit: a property fails because it is wrong, not because of luck or load.
settings.register_profile("elastream", derandomize=True, deadline=None)
settings.load_profile("elastream")

REQUIRE = "ELASTREAM_REQUIRE"
# Several times what any test takes on a loaded machine: one that waits for ever fails, and the others follow.
LONGEST_S = 1200.0


def missing_for_spark() -> str | None:
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    try:
        java_home()
    except JavaNotFound as reason:
        return str(reason)
    return None


def missing_for_kafka() -> str | None:
    if importlib.util.find_spec("confluent_kafka") is None:
        return "confluent-kafka is not installed"
    try:
        java_home()
    except JavaNotFound as reason:
        return str(reason)
    return lacking(BROKER)


def missing_for_browser() -> str | None:
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(lacking)} not found (Debian: apt-get install chromium chromium-driver)" if lacking else None


def missing_for_prometheus() -> str | None:
    lacking = [name for name in ("prometheus", "promtool") if shutil.which(name) is None]
    return f"{' and '.join(lacking)} not found (Debian: apt-get install prometheus)" if lacking else None


# A capability's name, and what the machine lacks for it, if anything. The name is also a marker, for `-m`.
CAPABILITIES: dict[str, Callable[[], str | None]] = {
    "spark": missing_for_spark,
    "kafka": missing_for_kafka,
    "browser": missing_for_browser,
    "prometheus": missing_for_prometheus,
    "users": users.missing,
}


@cache
def missing(capability: str) -> str | None:
    return CAPABILITIES[capability]()


def required() -> set[str]:
    """Capabilities that this run must not do without: a test that needs one fails where it would be skipped."""
    names = (name.strip() for name in os.environ.get(REQUIRE, "").split(","))
    return check_known((name for name in names if name), where=REQUIRE)


def check_known(names: Iterable[str], *, where: str) -> set[str]:
    known = set(names)
    for name in sorted(known - CAPABILITIES.keys()):
        raise pytest.UsageError(f"{where}: no capability {name!r}{suggestion(name, CAPABILITIES)}")
    return known


def needs(item: pytest.Item) -> set[str]:
    declared = {name for mark in item.iter_markers("needs") for name in mark.args}
    return check_known(declared, where=item.nodeid) | {name for name in CAPABILITIES if item.get_closest_marker(name)}


def pytest_configure(config: pytest.Config) -> None:
    required()
    for name in CAPABILITIES:
        config.addinivalue_line("markers", f'{name}: the same as needs("{name}")')


@pytest.fixture(autouse=True)
def _no_pattern_of_another_test() -> Iterator[None]:
    """What is secret in an application holds for the process it runs in."""
    yield
    use_pattern(None)


# Before the plugin that selects by marker, which is to see the markers added here.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for name in needs(item):
            item.add_marker(name)
        if item.path.parent.name == "jobs":
            item.add_marker("local")


# Before any fixture, which may be what cannot be made on this machine.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for name in sorted(needs(item)):
        reason = missing(name)
        if reason and name in required():
            pytest.fail(f"{REQUIRE} names {name!r}, which this machine lacks: {reason}", pytrace=False)
        if reason:
            pytest.skip(f"needs {name}: {reason}")


# With its fixtures. Also inside of a test of this file, which has its own limit.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    def fail(number: int, frame: object) -> None:
        pytest.fail(f"not done after {LONGEST_S:g} s: {item.nodeid}")

    before = signal.signal(signal.SIGALRM, fail)
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, left_s)
        signal.signal(signal.SIGALRM, before)
