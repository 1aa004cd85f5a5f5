"""Probes of others: named by the user, or announced by a package; what fails in them stays in them."""

import logging
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.spark.jvm.snapshot import SourceSeen
from elastream.spark.observe.offsets import Sample
from elastream.spark.observe.probe_register import ProbeRegister
from elastream.spark.observe.probes import PROBES, Probe, Rate, Reported, stream_names
from tests.foreign import install, write_module

QUEUE = SourceSeen(kind="com.example.QueueStream", options={"length": "40"})
RATE = SourceSeen(kind="org.apache.spark.RateStreamMicroBatchStream")
_numbers = count()

PROBE = """
from elastream.spark.observe.offsets import Sample
from elastream.spark.observe.probes import Reported


class Queue(Reported):
    def newest(self, utc_s, offsets, log):
        return Sample(utc_s, {"": float(self.source.options["length"])})


class NoProbe:
    pass
"""


class Silent(Reported):
    def newest(self, utc_s: float, offsets: Sequence[Any], log: object) -> Sample | None:
        raise ConnectionError("nobody answers")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"their_probes_{next(_numbers)}"
    write_module(tmp_path, name, PROBE)
    return name


def register() -> ProbeRegister:
    return ProbeRegister(PROBES, Probe)


def found(probes: ProbeRegister, source: SourceSeen) -> Probe | None:
    return probes.find(stream_names(source), source)


@pytest.mark.parametrize("stream", ["QueueStream", "com.example.QueueStream"])
def test_a_user_names_a_probe_by_the_class_of_the_stream(module: str, stream: str) -> None:
    probes = register()
    assert found(probes, QUEUE) is None
    probes.use(stream, f"{module}:Queue")
    probe = found(probes, QUEUE)
    assert probe is not None
    assert probe.newest(7.0, (), None) == Sample(7.0, {"": 40.0})
    assert (probe.arrived_from, probe.problem, probe.source) == ("probe", None, QUEUE)


def test_a_class_that_is_no_probe_is_refused_in_one_line(module: str) -> None:
    with pytest.raises(BadInput) as caught:
        register().use("QueueStream", f"{module}:NoProbe")
    assert str(caught.value).startswith(f"probes.QueueStream: probe {module}:NoProbe: it is no probe: it lacks ")


def test_a_package_announces_one_and_never_in_the_place_of_ours(
    module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    announced = {"com.example.QueueStream": f"{module}:Queue", "RateStreamMicroBatchStream": f"{module}:Queue"}
    install(tmp_path, "others-probes", {"elastream.probes": announced})
    probes = register()
    assert found(probes, QUEUE) is not None
    assert isinstance(found(probes, RATE), Rate)
    assert caplog.messages == [
        "left out: package others-probes announces the probe RateStreamMicroBatchStream, a name of ours"
    ]


def test_what_fails_in_a_probe_of_others_is_unknown_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    probes = register()
    probes.register("QueueStream", Silent)
    probe = found(probes, QUEUE)
    assert probe is not None
    with caplog.at_level(logging.WARNING, logger="elastream"):
        assert [probe.newest(float(at_s), (), None) for at_s in range(3)] == [None] * 3
    assert caplog.messages == ["the probe of QueueStream failed: ConnectionError: nobody answers"]
    assert probe.problem == "its probe failed: ConnectionError: nobody answers"


def test_a_source_written_in_python_is_known_by_its_format() -> None:
    python = "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream"
    assert stream_names(SourceSeen(kind=python, table="queue")) == ("queue",)
    assert stream_names(SourceSeen(kind=python)) == ()
    assert stream_names(QUEUE) == ("com.example.QueueStream", "QueueStream")
