"""Processor time and memory of executors from /proc."""

import os
from pathlib import Path

from elastream.spark.usage import HostUsage


def add(proc: Path, pid: int, parent: int, command: str, arguments: list[str], ticks: int, pages: int) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", "0", "0", *["0"] * 4, "77", "0", str(pages)]
    (folder / "stat").write_text(f"{pid} ({command}) {' '.join(fields)}\n")
    (folder / "cmdline").write_text("\0".join(arguments) + "\0")


def test_an_executor_counts_with_its_python_workers_and_others_do_not(tmp_path: Path) -> None:
    per_s, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    mine = ["java", "Backend", "--executor-id", "3", "--app-id", "app-1"]
    add(tmp_path, 10, 1, "java", mine, 5 * per_s, 100)
    add(tmp_path, 11, 10, "python3 (daemon)", ["python3"], 2 * per_s, 10)
    add(tmp_path, 12, 11, "python3", ["python3"], per_s, 5)
    add(tmp_path, 20, 1, "java", [*mine[:-1], "app-2"], 9 * per_s, 900)
    add(tmp_path, 30, 1, "bash", mine, per_s, 1)
    (tmp_path / "self").mkdir()
    usage = HostUsage("app-1", tmp_path).read()
    assert list(usage) == ["3"]
    assert (usage["3"].pid, usage["3"].cpu_s, usage["3"].memory_bytes) == (10, 8.0, 115.0 * page)


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    assert HostUsage("app-1", tmp_path / "none").read() == {}
