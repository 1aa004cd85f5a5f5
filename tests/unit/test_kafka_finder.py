"""Which brokers a command means."""

from pathlib import Path

import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.daemons.processes import Process, this_process
from elastream.development.kafka.finder import read_bootstrap
from elastream.development.kafka.folder import BrokerFolder, BrokerState

GONE = Process(pid=1, started="before the flood", owner=0, command=("init",))


def broker(folder: Path, *, supervisor: Process | None = None, running: Process | None = None) -> Path:
    """A broker's folder, with this process in the place of those that run."""
    me = this_process()
    kept = BrokerFolder(path=folder)
    kept.make()
    daemons = {"broker": running or me}
    kept.write(BrokerState(supervisor=supervisor or me, daemons=daemons, heap="512m", bootstrap="127.0.0.1:4711"))
    return folder


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_broker_of_ones_own_is_found_without_a_word(runtime: Path) -> None:
    broker(runtime / "elastream-broker")
    assert read_bootstrap(None) == "127.0.0.1:4711"


def test_another_one_is_named_by_its_folder(runtime: Path) -> None:
    broker(Path("second").absolute())
    assert read_bootstrap("second") == "127.0.0.1:4711"
    assert read_bootstrap("kafka-1:9092,kafka-2:9092") == "kafka-1:9092,kafka-2:9092"


@pytest.mark.parametrize("gone", ["supervisor", "running"])
def test_a_broker_that_has_ended_is_none(runtime: Path, gone: str) -> None:
    folder = broker(runtime / "elastream-broker", **{gone: GONE})
    with pytest.raises(BadInput) as wrong:
        read_bootstrap(None)
    assert str(wrong.value) == (
        f"--bootstrap: no broker runs in {folder}; start one: elastream kafka up, or name brokers as HOST:PORT"
    )


def test_what_is_no_address_is_told(runtime: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runtime.parent / "empty").mkdir()
    produce = ["produce", "keyed", "--workload", "1k"]
    for where, told in {
        "localhost": "--bootstrap: found 'localhost'; it must be HOST:PORT, or the folder of `elastream kafka up`",
        "empty": f"--bootstrap: no broker runs in {runtime.parent}/empty; start one: elastream kafka up --folder empty",
    }.items():
        assert main([*produce, "--bootstrap", where]) == 2
        assert capsys.readouterr().err == f"elastream: {told}\n"
