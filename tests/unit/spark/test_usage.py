"""Processor time and memory of executors from /proc."""

import os
from pathlib import Path

import pytest

from elastream.spark.observe.host_usage import HostUsage


def add(proc: Path, pid: int, parent: int, command: str, arguments: list[str], ticks: int, pages: int) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", "0", "0", *["0"] * 4, "77", "0", str(pages)]
    (folder / "stat").write_text(f"{pid} ({command}) {' '.join(fields)}\n")
    (folder / "cmdline").write_text("\0".join(arguments) + "\0")


BACKEND = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
MINE = ["java", BACKEND, "--executor-id", "3", "--app-id", "app-1"]


def test_an_executor_counts_with_its_python_workers_and_others_do_not(tmp_path: Path) -> None:
    per_s, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    add(tmp_path, 10, 1, "java", MINE, 5 * per_s, 100)
    add(tmp_path, 11, 10, "python3 (daemon)", ["python3"], 2 * per_s, 10)
    add(tmp_path, 12, 11, "python3", ["python3"], per_s, 5)
    add(tmp_path, 20, 1, "java", [*MINE[:-1], "app-2"], 9 * per_s, 900)
    add(tmp_path, 30, 1, "bash", MINE, per_s, 1)
    (tmp_path / "self").mkdir()
    usage = HostUsage("app-1", tmp_path).read()
    assert list(usage) == ["3"]
    assert (usage["3"].pid, usage["3"].cpu_s, usage["3"].memory_bytes) == (10, 8.0, 115.0 * page)


@pytest.mark.parametrize(
    "words",
    [
        ["java", BACKEND, "--executor-id", "3", "--app-id", "app-2", "--user-class-path", "app-1"],
        ["java", "app-1", "--executor-id", "3", "--app-id", "app-1"],
        ["java", BACKEND, "--app-id", "app-1"],
    ],
)
def test_a_process_that_only_names_the_application_is_not_counted(tmp_path: Path, words: list[str]) -> None:
    add(tmp_path, 10, 1, "java", words, 5, 100)
    assert HostUsage("app-1", tmp_path).read() == {}


def test_a_process_of_another_user_is_not_counted_whatever_it_calls_itself(tmp_path: Path) -> None:
    add(tmp_path, 10, 1, "java", MINE, 5, 100)
    assert list(HostUsage("app-1", tmp_path).read()) == ["3"]
    assert HostUsage("app-1", tmp_path, owner=os.getuid() + 1).read() == {}


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    assert HostUsage("app-1", tmp_path / "none").read() == {}


def test_time_in_the_kernel_page_faults_and_what_the_host_does_are_read_beside_it(tmp_path: Path) -> None:
    per_s = os.sysconf("SC_CLK_TCK")
    add(tmp_path, 10, 1, "java", MINE, 5 * per_s, 100)
    fields = (tmp_path / "10" / "stat").read_text().split()
    # After pid and command, counted from the state: pages that a disk had to read, and ticks in the kernel.
    fields[2 + 9], fields[2 + 12] = "42", str(2 * per_s)
    (tmp_path / "10" / "stat").write_text(" ".join(fields))
    (tmp_path / "stat").write_text("cpu 100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3\n")
    usage = HostUsage("app-1", tmp_path)
    first = usage.read()["3"]
    assert (first.cpu_s, first.system_s, first.page_faults, first.host_cpu) == (7.0, 2.0, 42.0, None)
    (tmp_path / "stat").write_text("cpu 150 0 125 710 115 0 0 0 0 0\n")
    assert usage.read()["3"].host_cpu == pytest.approx(0.75)
