"""The one call per tick that reads the JVM."""

import json
from typing import Any

import pytest

from elastream.core.errors import ObservationFailed
from elastream.spark.jvm.listener import JvmListener
from tests.unit.spark.java_builder import JavaBuilder

pytest.importorskip("py4j")


class Driver:
    """Tells every note again until it is confirmed, and forgets it then, as the listener in the JVM does."""

    def __init__(self) -> None:
        self.notes: list[int] = []
        self.asked: list[int] = []
        self.broken = False

    def look(self, read: int) -> JavaBuilder:
        self.asked.append(read)
        self.notes = [note for note in self.notes if note > read]
        last = max(self.notes, default=read)
        told = json.dumps({"at_ms": 1000 * last, "application": "a", "note": last})
        return JavaBuilder(told[:20] if self.broken else told)

    def install(self) -> None:
        """It listens."""

    def remove(self) -> None:
        """It listens no more."""


def watch(driver: Driver) -> JvmListener:
    nobody: Any = None
    return JvmListener(nobody, driver, nobody, asks_kafka=False)


def test_what_was_read_is_confirmed_with_the_next_look_so_that_the_driver_can_forget_it() -> None:
    driver = Driver()
    watching = watch(driver)
    for note in range(1, 1001):
        driver.notes.append(note)
        watching.look()
        assert len(driver.notes) == 1
    assert driver.asked == list(range(1000))


def test_what_could_not_be_read_is_told_again() -> None:
    driver = Driver()
    watching = watch(driver)
    driver.notes.append(1)
    watching.look()
    driver.notes.append(2)
    driver.broken = True
    with pytest.raises(ObservationFailed, match="tried again at the next tick"):
        watching.look()
    driver.broken = False
    assert watching.look().note == 2
    assert driver.asked == [0, 1, 1]
