"""Workloads in one line of text, and recorded rates in files."""

import random
from pathlib import Path

from elastream.workloads import parse_workload, workloads
from elastream.workloads.tracefile import read_recording, shipped_traces
from tests.fuzz.absurd import NUMBERS, TEXTS, tear
from tests.fuzz.harness import fuzz, outcome, sizes

PARTS = (
    "+", "*", "(", ")", ",", "=", "..", " ", "-", "200k", "2.2M", "90m", "1h30m", "5%", "1e5", "0", "-1", "1e999",
    "9" * 50,
    "1_0", "1_", "1__0", "1e-5000", "1e5000k", "٣", "²", "none", "true", "'x'", '"', "\\", "\n", "\t", "1e400%",
    "0.1ms",
    "cosine(200k..2.2M, period=60m)", "spike(1M, at=40m, for=5m)", "constant(5k)", "2 *", "+ 3k", "period=",
    "at=", "noise=",
)  # fmt: skip


def sentence(draw: random.Random) -> str:
    """Something between a workload and noise."""
    kind = draw.randrange(4)
    if kind == 0:
        words = [*PARTS, *workloads.names(), *TEXTS, *map(str, NUMBERS)]
        return "".join(draw.choice(words) for _ in range(draw.randrange(1, 9)))
    if kind == 1:
        return tear(draw, b"cosine(200k..2.2M, period=60m, noise=100k) + 2 * spike(1M, at=40m, for=5m)").decode(
            errors="replace"
        )
    return draw.choice((" + ", " * ", "*", "+")).join(_call(draw) for _ in range(draw.randrange(1, 4)))


def _call(draw: random.Random) -> str:
    """A call of a pattern that exists, with settings that exist, and values of any kind."""
    name = draw.choice(workloads.names())
    settings = [setting.name for setting in workloads.settings(name)]
    values = [*PARTS, *map(str, NUMBERS), *TEXTS, *shipped_traces()]
    chosen = draw.sample(settings, draw.randrange(len(settings) + 1))
    given = [f"{key}={draw.choice(values)}" for key in chosen]
    first = draw.choice(([], ["1k..9k"], ["5k"], [draw.choice(values)]))
    return f"{name}({', '.join([*first, *given])})"


@sizes(600, 40_000)
def test_a_text_is_a_workload_or_refused_and_reads_back_as_itself(cases: int) -> None:
    def read(text: str, seed: int) -> None:
        workload = parse_workload(text)
        assert str(parse_workload(str(workload))) == str(workload)
        workload.series(duration_s=600.0, seed=seed)

    def once(draw: random.Random) -> str:
        text, seed = sentence(draw), draw.randrange(5)
        return outcome(lambda: read(text, seed))

    found = fuzz("workload texts", cases, once)
    assert found["read"] > cases / 50


@sizes(300, 20_000)
def test_a_file_of_rates_is_read_or_refused(cases: int, tmp_path: Path) -> None:
    cells = (*map(str, NUMBERS), *TEXTS, "5", "5.5", " 7 ", "1e3", "1_000", "0x10", "٣", "1e400")

    def rows(draw: random.Random) -> str:
        header = draw.choice(
            ("t_seconds,rate", "rate,minute", "t,rps,other", "seconds", "", "\ufefft,rate", '"t","rate')
        )
        usual = (f"{5 * n},{100 * n}" for n in range(draw.randrange(6)))
        odd = (",".join(draw.choice(cells) for _ in range(draw.randrange(4))) for _ in range(draw.randrange(3)))
        return "\n".join([header, *usual, *odd])

    def once(draw: random.Random) -> str:
        file = tmp_path / draw.choice(("trace.csv", "trace.parquet"))
        text = rows(draw).encode(errors="surrogatepass")
        file.write_bytes(tear(draw, text) if draw.random() < 0.3 else text)
        stretch, then = draw.choice((1, 0.5, 1e-9, 1e9)), draw.choice(("repeat", "stop", "hold"))
        call = f'trace("{file}", stretch={stretch}, then={then})'
        if draw.random() < 0.5:
            return outcome(lambda: read_recording(str(file)))
        return outcome(lambda: parse_workload(call).series(duration_s=600.0, seed=0))

    fuzz("files of rates", cases, once)
