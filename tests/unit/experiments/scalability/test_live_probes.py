"""Probes on a cluster, as far as they can be tried without one: commands, processes, and journals that others write."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.development.cluster.local_cluster import LocalCluster
from elastream.experiments.scalability import live
from elastream.experiments.scalability.applications import (
    JobApplication,
    ScriptApplication,
    check_producer,
    find_application,
)
from elastream.experiments.scalability.asked import ScalabilityOrder, ScriptOrder
from elastream.experiments.scalability.host import HostCores, pin_executors
from elastream.experiments.scalability.layout import Layout
from elastream.experiments.scalability.live import LiveBench, LiveGround
from elastream.experiments.scalability.probe import ProbeTerms

TERMS = ProbeTerms(rate_rps=2_000.0, workers=2, cores=4, accept_after_s=60.0)


@dataclass
class Stand:
    """An application that is another program."""

    program: str
    loads: str | None = None
    options: Sequence[str] = field(default_factory=tuple)

    def command(self, terms: ProbeTerms, folder: Path) -> list[str]:
        return []

    def settings(self, layout: Layout) -> Mapping[str, str]:
        return {}

    def load(self, terms: ProbeTerms, folder: Path) -> list[str] | None:
        return None if self.loads is None else [sys.executable, "-c", self.loads]


def bench(application: Stand, monkeypatch: pytest.MonkeyPatch) -> LiveBench:
    ground = LiveGround(application=application, work="real", memory="2g", master="spark://nowhere:7077")
    made = LiveBench(ground, Layout(2, 2), "spark://nowhere:7077")
    monkeypatch.setattr(made, "_run_command", lambda folder: [sys.executable, "-c", application.program])
    return made


def test_a_job_that_dies_before_its_query_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import sys; print('starting'); sys.exit('ModuleNotFoundError: no module named feast')"
    done = bench(Stand(program), monkeypatch).run(TERMS, tmp_path, lambda share: None)
    assert done.verdict.state == "broken"
    assert done.verdict.reason.endswith("before its query had begun: ModuleNotFoundError: no module named feast")
    assert (tmp_path / "driver.log").read_text().startswith("starting")


def test_what_is_started_is_told_its_folder_by_a_name_that_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("results") / "probe"
    folder.mkdir(parents=True)
    stand = bench(Stand("print('no query here')"), monkeypatch)
    told: list[Path] = []

    def run_command(given: Path) -> list[str]:
        told.append(given)
        return [sys.executable, "-c", "pass"]

    monkeypatch.setattr(stand, "_run_command", run_command)
    assert stand.run(TERMS, folder, lambda share: None).verdict.state == "broken"
    assert told == [tmp_path / folder]


def test_a_job_without_a_query_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_START_S", 1.0)
    done = bench(Stand("import time; time.sleep(60)"), monkeypatch).run(TERMS, tmp_path, lambda share: None)
    assert done.verdict.state == "broken"
    assert done.verdict.reason == "no query that can be measured came within 1 s: none began"


def test_who_was_started_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_START_S", 1.5)
    monkeypatch.setattr(live, "_END_S", 0.2)
    program = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('pid', 'w').write(str(child.pid)); time.sleep(600)"
    )
    bench(Stand(program), monkeypatch).run(TERMS, tmp_path, lambda share: None)
    child = int((tmp_path / "pid").read_text())
    for _ in range(50):
        state = ""
        with suppress(OSError):
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        if state in ("", "Z"):
            return
        time.sleep(0.1)
    raise AssertionError(f"{child} lives on")


def test_a_probe_runs_under_elastream_run_with_the_settings_of_its_layout(tmp_path: Path) -> None:
    application = JobApplication(job="wordcount")
    ground = LiveGround(application=application, work="real", memory="2g")
    command = LiveBench(ground, Layout(2, 2), "/cluster")._run_command(tmp_path)
    text = " ".join(command)
    assert command[1:4] == ["-m", "elastream", "run"]
    assert "--executors 2..2 --policy fixed" in text
    for setting in ("spark.executor.cores=2", "spark.cores.max=4", "spark.sql.shuffle.partitions=4",
                    "spark.executor.memory=2765m"):  # fmt: skip
        assert f"--conf {setting}" in text


def test_a_job_gets_its_events_at_the_rate_with_a_partition_for_each_slot(tmp_path: Path) -> None:
    application = JobApplication(job="enrichment")
    options = application.options_of(TERMS)
    assert options["workload"] == "constant(2000)"
    assert (options["partitions"], options["rowsPerBatch"]) == ("4", "40000")
    # Lanes report once a second whatever the load: their own time passes faster.
    assert float(options["timeFactor"]) == pytest.approx(2_000 / 380)
    script, orders = application.command(TERMS, tmp_path)
    assert Path(script).name == "job_script.py"
    assert Path(orders).parent == tmp_path
    with pytest.raises(BadInput):
        JobApplication(job="wordcount", events={"nonsense": "1"}).check(TERMS)


def test_a_script_and_a_producer_are_told_rate_folder_and_topic(tmp_path: Path) -> None:
    order = ScalabilityOrder(
        job="my_job.py", work="real",
        script=ScriptOrder(topic="clicks", bootstrap="h:9092", arguments=("--checkpoint", "{folder}/checkpoint"),
                           producer="make --rate {rate} --to {topic}@{bootstrap}"),
    )  # fmt: skip
    application = find_application(order)
    assert isinstance(application, ScriptApplication)
    assert application.command(TERMS, tmp_path)[1:] == ["--checkpoint", f"{tmp_path}/checkpoint"]
    assert application.load(TERMS, tmp_path) == ["make", "--rate", "2000", "--to", "clicks@h:9092"]
    with pytest.raises(BadInput, match="must say where the rate goes"):
        check_producer("make --fast")


def test_cores_of_the_host_are_those_that_were_busy(tmp_path: Path) -> None:
    host = HostCores(tmp_path)
    assert host.read(0.0) is None
    ticks = os.sysconf("SC_CLK_TCK")
    (tmp_path / "stat").write_text(f"cpu {10 * ticks} 0 0 99 7 0 0 0 0 0\n")
    assert host.read(1.0) is None
    (tmp_path / "stat").write_text(f"cpu {12 * ticks} 0 {1 * ticks} 999 77 0 0 0 0 0\n")
    assert host.read(3.0) == pytest.approx(1.5)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processes cannot be held to cores here")
def test_an_executor_is_held_to_as_many_cores_as_its_layout_has() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        pin_executors([process.pid], 1)
        assert len(os.sched_getaffinity(process.pid)) == 1
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (["wordcount", "--simulate", "--emulate", "2k"], "--simulate: starts no Spark"),
        (["wordcount", "--topic", "clicks"], "--topic: is for a script"),
        (["nowhere.py", "--topic", "clicks"], "nowhere.py: there is no such file"),
        (["wordcount", "--model", "enrich"], "--model: is for simulated layouts"),
        (["wordcount", "--layouts", "64x64"], "none fits this machine: 64x64: needs"),
        (["wordcount", "--layouts", "1x1", "--memory", "1g"], "is too small to start; give more --memory"),
        (["wordcounts"], "did you mean 'wordcount'"),
    ],
)
def test_what_cannot_be_had_is_told_before_anything_is_started(
    call: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever slips through starts no cluster.
    monkeypatch.setattr(LocalCluster, "__enter__", lambda cluster: pytest.fail("a cluster is started"))
    assert main(["scalability", *call, "--out", str(tmp_path / "out")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
