"""Jobs that read what the producer wrote: the same events as from the embedded source, and so the same answer."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import pytest

from elastream.development.kafka.local_broker import LocalBroker
from elastream.development.kafka.topics import create_topic
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import stream_options
from elastream.jobs.judging import inputs_of, judge
from elastream.jobs.output import written
from tests.kafka.records import read_all
from tests.kafka.running import ELASTREAM

pytestmark = pytest.mark.needs("spark", "kafka")

APP = Path(__file__).parent / "apps" / "job.py"
OPTIONS = {"workload": "constant(500)", "rows": "12000", "seed": "5", "partitions": "3", "disorder": "5"}
# A fail-safe; nothing waits for it on a machine that has time.
PATIENCE_S = 600.0


@pytest.mark.full
@pytest.mark.parametrize("name", ["yahoo", "nexmark-q8"])
def test_a_job_gives_the_right_rows_from_topics_to_files_and_to_a_topic(
    name: str, broker: LocalBroker, tmp_path: Path
) -> None:
    job = jobs.build(name)
    # What waits for no watermark would take the events that flush for its own.
    asked = {**OPTIONS, **job.result.flush}
    given = stream_options(job, asked)
    topics = {key: f"{key}-{uuid4().hex}" for key in (*given, "out")}
    create_topic(broker.bootstrap, topics["out"], partitions=2)
    for stream, options in given.items():
        produce(f"{name}/{stream}", broker.bootstrap, topics[stream], options)
    command = [sys.executable, str(APP), name, broker.bootstrap, str(tmp_path), json.dumps(asked), json.dumps(topics)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    rows = written(job.result, tmp_path / "parquet")
    verdict = judge(job, inputs_of(job, asked), rows)
    assert verdict.right, verdict.sentence
    assert rows is not None
    # Nothing failed, so that the sink that may write twice has not.
    assert len(read_all(broker.bootstrap, topics["out"])) == rows.num_rows
    assert max(Counter(read_all(broker.bootstrap, topics["out"])).values()) == 1


def produce(source: str, bootstrap: str, topic: str, given: Mapping[str, str]) -> None:
    options = {key: value for key, value in given.items() if key in ("disorder", "flush")}
    command = [ELASTREAM, "produce", source, "--bootstrap", bootstrap, "--topic", topic, "--create", "--max"]
    command += ["--workload", OPTIONS["workload"], "--seed", OPTIONS["seed"], "--partitions", OPTIONS["partitions"]]
    command += ["--rows", given["rows"], *(part for pair in options.items() for part in ("--option", "=".join(pair)))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stderr
