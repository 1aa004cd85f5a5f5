"""A job named by its file: found without a path being searched, and a script that is no job is not run."""

import sys
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.core.callform import parse_call
from elastream.core.errors import BadInput
from elastream.jobs.catalogue import jobs, parse_job
from elastream.jobs.job import build_query, query_name
from elastream.policies import policies

JOB = '''"""Somebody's job."""

from dataclasses import dataclass
from typing import ClassVar

from elastream import Result, Stream


@dataclass(frozen=True, kw_only=True)
class Mine:
    """Passes all on."""

    keep: int = 1
    streams: ClassVar[tuple[Stream, ...]] = (Stream(name="events", generator="keyed"),)
    result: ClassVar[Result] = Result()
    answer: ClassVar[str] = "SELECT *, event_time AS first_time, event_time AS last_time FROM events"

    def query(self, streams):
        return shouted(streams["events"])


def shouted(frame):
    return f"{frame}!"


class Helper:
    """No job."""
'''
SCRIPT = """
from pathlib import Path
Path({mark!r}).touch()
def main(): pass
spark = SparkSession.builder.getOrCreate()
spark.readStream.format({kind!r}).load()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-job.py").write_text(JOB)
    (tmp_path / "script.py").write_text(SCRIPT.format(mark=str(tmp_path / "ran"), kind="rate"))
    return tmp_path


def told(text: str) -> str:
    with pytest.raises(BadInput) as wrong:
        parse_job(text)
    assert "\n" not in str(wrong.value)
    return str(wrong.value)


@pytest.mark.parametrize("where", ["my-job.py", "./my-job.py", "{}/my-job.py", "../{name}/my-job.py"])
def test_a_job_is_built_by_its_file_and_class_wherever_that_lies(here: Path, where: str) -> None:
    built = parse_job(f"{where.format(here, name=here.name)}:Mine(keep=4)")
    assert getattr(built, "keep", None) == 4
    assert query_name(built) == "my-job-Mine"
    assert type(jobs.build(jobs.name_of(built))) is type(built)


def test_a_file_in_a_folder_with_a_space_is_named_again_by_what_was_written_down(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "all my jobs"
    folder.mkdir()
    (folder / "mine.py").write_text(JOB)
    monkeypatch.chdir(folder)
    built = parse_job("mine.py:Mine")
    assert type(jobs.build(jobs.name_of(built), {"keep": 2})) is type(built)


def test_the_folder_of_a_file_does_not_join_the_path_and_no_name_is_taken(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "elsewhere"
    folder.mkdir()
    (folder / "json.py").write_text(JOB)
    (folder / "helpers_of_mine.py").write_text("")
    (folder / "needy.py").write_text(f"import helpers_of_mine\n{JOB}")
    before = [sys.modules["json"], *sys.path]
    parse_job("elsewhere/json.py:Mine")
    assert told("elsewhere/needy.py:Mine") == (
        "job: column 1: elsewhere/needy.py:Mine: elsewhere/needy.py cannot be run: ModuleNotFoundError: No module named"
        " 'helpers_of_mine'; what it imports must be installed, beside you or on PYTHONPATH"
    )
    assert [sys.modules["json"], *sys.path] == before
    assert str(folder / "needy.py") not in sys.modules


def test_no_compiled_file_beside_it_is_believed(here: Path) -> None:
    parse_job("my-job.py:Mine")
    assert {path.name for path in here.iterdir()} == {"my-job.py", "script.py"}


def test_functions_of_a_file_travel_with_their_tasks(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    built = parse_job("my-job.py:Mine")
    module = type(built).__module__
    assert str(build_query(built, {"events": "rows"})) == "rows!"  # type: ignore[dict-item]
    try:
        pickled = cloudpickle.dumps(sys.modules[module].shouted)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[module])
    monkeypatch.delitem(sys.modules, module)
    assert cloudpickle.loads(pickled)("rows") == "rows!"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my-job.py", "job my-job.py: name its class too: my-job.py:Mine"),
        ("my-job.py(keep=3)", "job my-job.py: name its class too: my-job.py:Mine"),
        ("my-job.py:Mien", "job my-job.py: it has no job 'Mien'; did you mean 'Mine'?"),
        ("my-job.py:Helper", "job my-job.py: it has no job 'Helper'; known: Mine"),
        ("my-job.py:Mine(kep=3)", "job: column 16: my-job.py:Mine has no setting 'kep'; did you mean 'keep'?"),
        ("my-job.py:Stream", "job: column 1: my-job.py:Stream: it is no job: it lacks streams, result, query and "),
        ("your-job.py:Mine", "job: your-job.py: cannot be read: No such file or directory"),
        (".py", "job: .py: cannot be read: No such file or directory"),
        ("broken.py:Mine", "job: broken.py is no Python that can be read: SyntaxError: "),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_one_line(here: Path, text: str, message: str) -> None:
    (here / "broken.py").write_text("class Mine(:\n")
    assert told(text).startswith(message)


@pytest.mark.parametrize("text", ["script.py", "script.py:main", "script.py:Mine"])
def test_a_script_gets_the_line_to_write_and_is_not_run(here: Path, text: str) -> None:
    line = "no class in it is a job; a script runs as it is: elastream run script.py; a job: docs/extend.md"
    assert told(text) == f"job script.py: {line}"
    assert not (here / "ran").exists()


def test_a_file_that_cannot_have_the_class_is_not_run(here: Path) -> None:
    with pytest.raises(BadInput, match="has no class 'Mine'; there is none"):
        jobs.build("script.py:Mine")
    assert not (here / "ran").exists()


def test_a_script_that_reads_kafka_gets_the_connector_too(here: Path) -> None:
    (here / "my script.py").write_text(SCRIPT.format(mark="never", kind="kafka"))
    assert "elastream run --kafka 'my script.py'; " in told("my script.py")


@pytest.mark.parametrize(
    "command", [["bench", "script.py"], ["live", "--job", "script.py"], ["jobs", "script.py:Foo"],
                ["produce", "script.py", "--workload", "1k", "--bootstrap", "127.0.0.1:1"]]
)  # fmt: skip
def test_every_command_tells_it(here: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("elastream: job script.py: no class in it is a job; ")
    assert err.count("\n") == 1


def test_events_of_a_job_in_a_file_are_named_by_its_stream(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{here}/my-job.py:Mine(keep=2)"
    assert main(["produce", f"{text}/lines", "--workload", "1k", "--bootstrap", "127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == f"elastream: job {text} has no stream 'lines'; known: events\n"


def test_only_a_job_is_named_by_a_file(here: Path) -> None:
    with pytest.raises(BadInput) as wrong:
        policies.build_call(parse_call("my-job.py:Mine", what="policy"))
    assert str(wrong.value) == (
        "policy: column 1: my-job.py:Mine: a class of this kind is named by its module: my-job:Mine"
    )
