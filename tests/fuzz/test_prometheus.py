"""What a server answers that says it is Prometheus: any text, and JSON that is nearly right."""

import json
import math
import random
import re

from elastream.spark.observe.prometheus.client import PrometheusClient
from elastream.spark.observe.prometheus.questions import Labels, Question, ask
from tests.fuzz.absurd import bend, tear
from tests.fuzz.harness import fuzz, outcome, sizes

SERIES = [
    {"metric": {"pod": "a-exec-1", "container": "x"}, "values": [[1000.0, "1"], [1015.5, "7.5"], [1030.0, "NaN"]]},
    {"metric": {"pod": "a-exec-2"}, "values": [[1000.0, "9e99"], [1015.5, "3"]]},
    {"metric": {}, "values": []},
]
VECTOR = [{"metric": {"pod": "a-exec-1"}, "value": [1030.0, "0.5"]}, {"metric": {}, "value": [1030.0, "+Inf"]}]
LABELS = Labels(executor="pod", pattern=re.compile(r".*-exec-(\d+)"), is_host=False, query=None)
QUESTIONS = (Question("cpu", "x"), Question("memory", "x"), Question("lag", "x"), Question("cpu", "sum(x)", "max(t)"))


class Answers(PrometheusClient):
    """Gives one text for every question."""

    def __init__(self, text: bytes) -> None:
        super().__init__("http://prometheus")
        self._text = text

    def _post(self, path: str, body: bytes) -> bytes:
        return self._text


def answer(draw: random.Random) -> bytes:
    kind, result = draw.choice((("matrix", SERIES), ("vector", VECTOR), ("scalar", [1030.0, "1"])))
    told = {"status": "success", "data": {"resultType": kind, "result": result}}
    try:
        text = json.dumps(bend(draw, told)).encode()
    except RecursionError:
        # What is nested so deeply cannot be written, but it can come.
        text = b"[" * 5000
    return tear(draw, text) if draw.random() < 0.2 else text


def attempt(draw: random.Random) -> str:
    client, question = Answers(answer(draw)), draw.choice(QUESTIONS)

    def read() -> None:
        found = ask(client, question, LABELS, window_s=60.0, server_s=1030.0, ahead_s=0.0)
        assert all(math.isfinite(one.value) and math.isfinite(one.at_s) for one in found.values())

    return outcome(read)


@sizes(300, 20_000)
def test_an_answer_is_read_or_refused_in_a_line(cases: int) -> None:
    answers = fuzz("answers of Prometheus", cases, attempt)
    assert min(answers["read"], answers["refused"]) > cases / 20
