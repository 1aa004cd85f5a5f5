"""Topics as a command names them, and what is told before anything starts."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.jobs import topics as module
from elastream.jobs.catalogue import parse_job
from elastream.jobs.topic_names import Topics, parse_topics
from elastream.jobs.topics import look_at_topics

WHERE = "127.0.0.1:4711"


def parsed(job: str, *read: str, to: str | None = None, rejected: str | None = None) -> Topics | None:
    return parse_topics(parse_job(job), read=read, to=to, rejected=rejected, bootstrap=WHERE)


def test_a_topic_goes_to_the_only_stream_and_several_in_their_order_or_by_name() -> None:
    assert parsed("yahoo", "a") == Topics(bootstrap=WHERE, read=(("ads", "a"),))
    assert parsed("nexmark-q8", "p", "a", to="out") == Topics(
        bootstrap=WHERE, read=(("persons", "p"), ("auctions", "a")), to="out"
    )
    assert parsed("nexmark-q8", "auctions=a", "persons=p") == parsed("nexmark-q8", "p", "a")
    assert parsed("yahoo", to="out") == Topics(bootstrap=WHERE, to="out")


def test_without_a_topic_nothing_is_asked_of_kafka() -> None:
    assert parse_topics(parse_job("yahoo"), read=(), to=None, rejected=None, bootstrap=None) is None


@pytest.mark.parametrize(
    ("job", "read", "more", "message"),
    [
        (
            "nexmark-q8",
            ["p"],
            {},
            "--from: the job reads 2 streams, and 1 topics are named so; write --from persons=TOPIC --from "
            "auctions=TOPIC",
        ),
        ("yahoo", ["a", "b"], {}, "--from: the job reads 1 stream, and 2 topics are named so; write --from TOPIC"),
        ("nexmark-q8", ["p", "auctions=a"], {}, "--from: the job reads 2 streams, and 2 topics are named so; write "),
        ("yahoo", ["adds=a"], {}, "--from adds=a: the job has no stream 'adds'; did you mean 'ads'?"),
        ("yahoo", ["ads=a", "ads=b"], {}, "--from ads=b: stream ads has topic 'a' already"),
        ("yahoo", ["a b"], {}, "--from: 'a b' is no name of a topic: letters, digits, '.', '_' and '-'"),
        ("yahoo", [".."], {}, "--from: '..' is no name of a topic: "),
        ("yahoo", ["a"], {"to": "a"}, "--to a: --from names that topic too; take another one"),
        ("yahoo", ["a"], {"to": "o", "rejected": "o"}, "--rejected o: --to names that topic too; take another one"),
        ("nexmark-q8", ["a", "a"], {}, "--from a: --from names that topic too; take another one"),
        ("yahoo", [], {"to": "o", "rejected": "r"}, "--rejected r: generated events are never rejected; name a topic "),
        ("yahoo", [], {"rejected": "r"}, "--rejected r: no topic is read or written; name one with --from or --to"),
    ],
)
def test_topics_that_do_not_fit_the_job_are_one_line(
    job: str, read: list[str], more: Mapping[str, str], message: str
) -> None:
    with pytest.raises(BadInput) as wrong:
        parsed(job, *read, **more)
    assert str(wrong.value).startswith(message)
    assert "\n" not in str(wrong.value)


class FakeReader:
    """A broker with three topics."""

    held: Mapping[str, Mapping[int, tuple[int, int]]] = {"ads": {0: (5, 9), 1: (0, 2)}, "empty": {0: (7, 7)}, "out": {}}

    def __init__(self, bootstrap: str) -> None:
        assert bootstrap == WHERE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def topics(self) -> dict[str, list[int]]:
        return {name: list(parts) for name, parts in self.held.items()}

    def places(self, topic: str, partitions: Sequence[int]) -> Mapping[int, tuple[int, int]]:
        return {number: self.held[topic][number] for number in partitions}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Topics that were made."""
    made: list[Any] = []
    monkeypatch.setattr(module, "TopicReader", FakeReader)
    monkeypatch.setattr(module, "create_topic", lambda *arguments: made.append(arguments))
    return made


def test_what_the_topics_hold_is_known_before_anything_starts(made: list[Any]) -> None:
    topics = parsed("yahoo", "ads", to="out")
    assert topics is not None
    held = look_at_topics(parse_job("yahoo"), topics)
    assert (held.messages("ads"), held.end("ads")) == (6, 11)
    assert made == []


def test_topics_for_results_are_made_only_when_asked_for(made: list[Any]) -> None:
    topics = parsed("yahoo", "ads", to="results", rejected="bad")
    assert topics is not None
    with pytest.raises(BadInput, match=r"--to: 127.0.0.1:4711 has no topic 'results'; --create makes it"):
        look_at_topics(parse_job("yahoo"), topics)
    assert made == []
    held = look_at_topics(parse_job("yahoo"), topics, create=True)
    assert made == [(WHERE, "results", 4), (WHERE, "bad", 4)]
    assert held.messages("results") == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["bench", "yahoo", "--from", "add"], "--from: 127.0.0.1:4711 has no topic 'add'; did you mean 'ads'?"),
        (
            ["bench", "yahoo", "--from", "empty"],
            "--from: topic 'empty' at 127.0.0.1:4711 is empty; fill it: elastream produce yahoo --workload 1k --topic"
            " empty",
        ),
        (
            ["bench", "nexmark-q8", "--from", "empty", "--from", "ads"],
            "--from: topic 'empty' at 127.0.0.1:4711 is empty; fill it: elastream produce nexmark-q8/persons --workload"
            " 1k --topic empty",
        ),
        (["bench", "yahoo", "--to", "results"], "--to: 127.0.0.1:4711 has no topic 'results'; --create makes it"),
        (
            ["bench", "yahoo", "--from", "ads", "--rate", "1k"],
            "--rate: it is about generated events, and --from reads those of a topic; leave it out",
        ),
        (
            ["bench", "yahoo", "--to", "out", "--sink", "noop"],
            "--sink noop: results go to the topic that --to names; leave it out",
        ),
        (["live", "--job", "yahoo", "--from", "add"], "--from: 127.0.0.1:4711 has no topic 'add'; did you mean 'ads'?"),
        (
            ["live", "--job", "yahoo", "--from", "ads", "--workload", "1k"],
            "--workload: it is about generated events, and --from reads those of a topic; leave it out",
        ),
        (["bench", "yahoo", "--from", "ads", "--create"], "--create: no topic is written; name one with --to"),
    ],
)
def test_what_is_wrong_with_topics_is_one_line_and_nothing_is_started(
    command: list[str], message: str, made: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--bootstrap", WHERE]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"elastream: {message}\n")
    assert made == []


def test_without_a_broker_nothing_is_started(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("confluent_kafka")
    assert main(["bench", "yahoo", "--from", "ads", "--bootstrap", "127.0.0.1:1"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("elastream: 127.0.0.1:1: no Kafka broker answers: ")
    assert err.count("\n") == 1
