"""`elastream jobs` and what needs no Spark of `elastream bench`, `live` and `produce`."""

import json
from typing import Any

import pytest

from elastream.cli import main
from elastream.cli.terminal.graph import ASCII, graph
from elastream.cli.terminal.latencies import late_rows
from elastream.core.topology import Edge, Operator, Topology
from elastream.jobs.batches import Batch, count_late
from elastream.jobs.catalogue import jobs


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("elastream: ").rstrip("\n")


@pytest.mark.parametrize("command", ["jobs", "bench"])
def test_both_commands_explain_themselves_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Examples" in out
    assert f"elastream {command} " in out


def test_every_job_is_listed_with_its_streams_and_its_results(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {one["name"]: one for one in printed(capsys, "jobs")}
    assert tuple(listed) == jobs.names()
    assert listed["wordcount"]["result"] == {"mode": "update", "key": ["word"], "final": False}
    assert listed["wordcount"]["streams"][0]["name"] == "sentences"
    assert main(["jobs"]) == 0
    assert "newest row per word counts" in capsys.readouterr().out


def test_rows_that_came_too_late_are_told() -> None:
    committed = [
        Batch(number=n, began_s=0.0, committed_s=1.0, rows=9, spans=(), state=None, dropped=n * 600) for n in range(3)
    ]
    told = late_rows(count_late(committed))
    assert told.startswith("1,800 rows or more came behind the watermark and were dropped")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ahead", "5s"], "--ahead: generated events come when they should; name a topic with --from"),
        (["--from", "ads", "--ahead", "soon"], "--ahead: "),
    ],
)
def test_how_far_ahead_events_may_be_is_about_topics(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["bench", "yahoo"], ["live", "--job", "yahoo"]):
        assert refused(capsys, *command, *arguments).startswith(message)


def test_a_job_shows_its_settings_with_defaults_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    (watermark,) = printed(capsys, "jobs", "deduplicate")["settings"]
    assert watermark["default"] == "20 seconds"
    assert main(["jobs", "deduplicate"]) == 0
    assert "how long an event is remembered" in capsys.readouterr().out
    assert main(["jobs", "pass"]) == 0
    assert "It has no settings." in capsys.readouterr().out


def test_a_job_shows_in_full_how_it_departs_from_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys, "jobs", "nexmark-q12")["about"]
    assert told.startswith("Nexmark's query 12")
    assert "What is compared is what must hold for every run" in told
    assert main(["jobs", "nexmark-q12"]) == 0
    assert "every bid is counted in exactly one of them" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jobs", "wordcont"], "unknown job 'wordcont'; did you mean 'wordcount'?"),
        (["jobs", "--topology"], "--topology: name a job, as in `elastream jobs --topology wordcount`"),
        (["bench", "wordcont"], "job: column 1: unknown job 'wordcont'; did you mean 'wordcount'?"),
        (
            ["bench", "deduplicate(watrmark='1 minute')"],
            "job: column 13: deduplicate has no setting 'watrmark'; did you mean 'watermark'?",
        ),
        (["bench", "pass", "--sink", "parket"], "unknown sink 'parket'; did you mean 'parquet'?"),
        (["bench", "pass", "--sink", "kafka"], "--sink kafka: name a topic: --to TOPIC"),
        (["bench", "pass", "--events", "0"], "--events: found '0'; it must be a number of at least 1, such as 500k"),
        (["bench", "pass", "--option", "rows=5"], "--option rows: give it as --events"),
        (["bench", "pass", "--option", "start=5"], "--option start: the job itself decides that"),
        (["bench", "enrichment", "--option", "IDs=5"], "--option IDs: the job itself decides that"),
        (
            ["bench", "nexmark-q1-kanis", "--option", "bidProportion=5"],
            "--option bidProportion: the job itself decides that",
        ),
        (["bench", "nexmark-q3", "--option", "rowsPerBatch=few"], "source: rowsPerBatch: 'few' is not a number"),
        (
            ["bench", "nexmark-q3", "--option", "hotSellerRatio=5"],
            "--option: the events of this job have no option 'hotSellerRatio'; did you mean 'hotSellersRatio'?",
        ),
        (
            ["live", "--option", "keis=4"],
            "--option: the events of this job have no option 'keis'; did you mean 'keys'?",
        ),
        (["live", "--option", "seed=4"], "--option seed: give it as --seed"),
        (["live", "--job", "wordcont"], "job: column 1: unknown job 'wordcont'; did you mean 'wordcount'?"),
        (
            ["produce", "wordcount/lines", "--workload", "1k", "--bootstrap", "127.0.0.1:1"],
            "job wordcount has no stream 'lines'; known: sentences",
        ),
        (
            ["produce", "wordcount", "--workload", "1k", "--bootstrap", "127.0.0.1:1", "--option", "wrds=3"],
            "source: no option 'wrds'; did you mean 'words'?",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *arguments) == message


def topology(*edges: tuple[str, str]) -> Topology:
    names = dict.fromkeys(name for edge in edges for name in edge)
    return Topology(
        operators=tuple(Operator(name=name, pool="executors") for name in names),
        edges=tuple(Edge(*edge) for edge in edges),
    )


def test_a_chain_is_one_line_down() -> None:
    rows = graph(topology(("read-0", "work-0"), ("work-0", "sum-0")), ASCII)
    assert [(row.drawn, row.operator) for row in rows] == [
        ("*", "read-0"),
        ("|", None),
        ("*", "work-0"),
        ("|", None),
        ("*", "sum-0"),
    ]


def test_two_sources_meet_in_a_join() -> None:
    rows = graph(topology(("read-0", "join-0"), ("read-1", "join-0"), ("join-0", "sum-1")), ASCII)
    assert [(row.drawn, row.operator) for row in rows] == [
        ("*", "read-0"),
        ("| *", "read-1"),
        ("+-'", None),
        ("*", "join-0"),
        ("|", None),
        ("*", "sum-1"),
    ]


def test_an_operator_with_two_readers_forks() -> None:
    rows = graph(topology(("read-0", "a"), ("read-0", "b"), ("a", "join"), ("b", "join")), ASCII)
    assert [(row.drawn, row.operator) for row in rows] == [
        ("*", "read-0"),
        ("+-.", None),
        ("* |", "a"),
        ("| *", "b"),
        ("+-'", None),
        ("*", "join"),
    ]
