"""`elastream produce` as far as it comes without a broker."""

from pathlib import Path

import pytest

from elastream.cli import main
from elastream.cli.terminal.produce_view import ProduceView
from elastream.development.kafka.producer_client import Target, read_client_file
from elastream.development.kafka.producer_verdict import Standing

NOBODY = ["--bootstrap", "127.0.0.1:1"]
BEGIN = ["produce", "keyed", "--workload", "constant(1k)", *NOBODY]


def told(capsys: pytest.CaptureFixture[str]) -> str:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("elastream: ").rstrip("\n")


def test_the_command_explains_itself_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["produce", "--help"]) == 0
    out = capsys.readouterr().out
    assert "Examples" in out
    assert "elastream produce keyed --workload" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["produce", "keyd", "--workload", "1k", *NOBODY], "source: unknown generator 'keyd'; did you mean 'keyed'?"),
        (
            ["produce", "keyed", "--workload", "constnt(1k)", *NOBODY],
            "workload: column 1: unknown workload 'constnt'; did you mean 'constant'?",
        ),
        ([*BEGIN, "--option", "key=5"], "source: no option 'key'; did you mean 'keys'?"),
        ([*BEGIN, "--option", "keys"], "--option: write it as KEY=VALUE"),
        ([*BEGIN, "--option", "keys=5", "--option", "keys=6"], "--option keys: it is given twice"),
        ([*BEGIN, "--option", "Seed=5"], "--option Seed: give it as --seed"),
        ([*BEGIN, "--option", "generator=keyed"], "--option generator: give it as SOURCE"),
        (
            [*BEGIN, "--option", "rowsPerBatch=5"],
            "--option rowsPerBatch: it limits what a query reads, and nothing is read here",
        ),
        ([*BEGIN, "--duration", "long"], "source: duration: 'long' is not a number"),
        ([*BEGIN, "--max"], "produce: as fast as possible needs an end; give --rows or --duration"),
        ([*BEGIN, "--first", "9", "--rows", "8"], "produce: --first: found 9, but the events end at 8"),
        ([*BEGIN, "--client-config", "/nowhere"], "/nowhere: cannot be read: No such file or directory"),
    ],
)
def test_wrong_input_is_one_line_before_anybody_is_asked(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert told(capsys) == message


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("sasl.pasword=hunter2", "client setting sasl.pasword: there is no such setting of librdkafka"),
        (
            "security.protocol=hunter2",
            "client setting security.protocol: librdkafka does not accept its value (not shown)",
        ),
        ("acks=1", "client setting acks: the producer sets it itself; leave it out"),
        ("hunter2", "--client: write it as KEY=VALUE"),
    ],
)
def test_no_value_of_a_client_setting_is_ever_repeated(
    setting: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("confluent_kafka")
    assert main([*BEGIN, "--client", setting]) == 2
    assert told(capsys) == message
    assert "hunter2" not in repr(Target(bootstrap="b", topic="t", settings={"sasl.password": "hunter2"}))


def test_client_settings_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# who\n\nsasl.username = me\nsasl.password=a=b#c\n")
    assert read_client_file(path) == {"sasl.username": "me", "sasl.password": "a=b#c"}


def test_a_file_with_a_line_that_says_nothing_is_refused_without_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("sasl.username=me\nhunter2\n")
    assert main([*BEGIN, "--client-config", str(path)]) == 2
    assert told(capsys) == f"{path}: line 2: write name=value"


def standing(at_s: float, due: int, acknowledged: int) -> Standing:
    return Standing(at_s=at_s, due=due, written=due, acknowledged=acknowledged, late_s=(due - acknowledged) / 100)


def test_without_a_terminal_a_line_every_five_seconds_says_what_was_achieved_of_what_was_intended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ProduceView(paced=True) as view:
        for tick in range(12 * 40 + 1):
            view.show(standing(tick / 40, tick * 25, tick * 20))
    assert capsys.readouterr().err.splitlines() == [
        "   5.0 s  4,000 acknowledged  800/s of 1,000/s intended  behind by 1,000 events, 10.0 s",
        "  10.0 s  8,000 acknowledged  800/s of 1,000/s intended  behind by 2,000 events, 20.0 s",
    ]


def test_as_fast_as_possible_nothing_is_intended(capsys: pytest.CaptureFixture[str]) -> None:
    with ProduceView(paced=False) as view:
        for second in range(6):
            view.show(standing(float(second), 99_999, second * 20))
    assert capsys.readouterr().err == "   5.0 s  100 acknowledged  20/s\n"
