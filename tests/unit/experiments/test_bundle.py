"""An archive of runs: the same bytes for the same content, and the same values where it is run again."""

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
import yaml

from elastream.core.errors import BadInput
from elastream.experiments.bundle.archive import unpack_archive, write_archive
from elastream.experiments.bundle.check import BundleCheck, check_bundle, find_difference
from elastream.experiments.bundle.packing import Packed, pack
from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.runner import Here, find_status, run_cases
from elastream.experiments.store.folder import RunStore
from elastream.experiments.store.identity import identify

PLAN = """\
include: base.yaml
what:
  model: windowed-count
  traces: loads/*.csv
  workload: {both: 'trace("loads/open.csv") + 1k'}
  slo: 60s
how: {policy: ["packed_policy:Packed", "fixed(workers=3)"], executors: 1..12, duration: 3m}
"""
POLICY = """\
from dataclasses import dataclass
from elastream.policies.fixed import Fixed
from packed_size import SIZE


@dataclass(frozen=True, kw_only=True)
class Packed(Fixed):
    workers: int = SIZE
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of runs, of a plan that reads and names much."""
    home = tmp_path / "home"
    (home / "loads").mkdir(parents=True)
    for name in ("open", "closed"):
        (home / "loads" / f"{name}.csv").write_text(f"t_seconds,rate\n0,{len(name)}000\n60,9000\n", encoding="utf-8")
    (home / "packed_policy.py").write_text(POLICY, encoding="utf-8")
    (home / "packed_size.py").write_text("SIZE = 4\n", encoding="utf-8")
    (home / "base.yaml").write_text("about: whose is it?\n", encoding="utf-8")
    (home / "plan.yaml").write_text(PLAN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(home))
    plan = read_plan(home / "plan.yaml")
    store = RunStore(home / "out").open()
    store.keep_plan(plan)
    assert run_cases(store, find_status(store, check_plan(multiply(plan)).cases), Here(), plan="plan") == (6, 0)
    store.close()
    yield home / "out"
    for module in ("packed_policy", "packed_size"):
        sys.modules.pop(module, None)


def packed(folder: Path, *loads: str) -> Packed:
    return pack(folder, loads=loads, authors=["Ada Lovelace", "Analysts"], licence="CC-BY-4.0")


def unpacked(folder: Path, found: Packed, name: str = "there") -> Path:
    file = folder.parent.parent / f"{name}.zip"
    write_archive(file, found.name, found.members)
    return unpack_archive(file, folder.parent.parent / name)


def checked(root: Path) -> BundleCheck:
    return check_bundle(root, root.parent / "again", Here(), trusts_code=True)


def test_the_same_content_is_the_same_bytes_and_names_no_folder_of_this_machine(folder: Path, tmp_path: Path) -> None:
    files = [tmp_path / "one.zip", tmp_path / "two.zip"]
    for file in files:
        found = packed(folder, "*")
        write_archive(file, found.name, found.members)
    assert files[0].read_bytes() == files[1].read_bytes()
    with zipfile.ZipFile(files[0]) as archive:
        holding = [name for name in archive.namelist() if str(tmp_path).encode() in archive.read(name)]
    assert holding == []


def test_what_was_packed_gives_the_same_where_it_is_unpacked(folder: Path) -> None:
    root = unpacked(folder, packed(folder, "*.csv"))
    assert {"packed_policy.py", "packed_size.py", "plan.yaml", "report.html", "requirements.txt"} <= {
        path.name for path in root.iterdir()
    }
    found = checked(root)
    assert (found.same, found.runs, found.differing, found.not_run, found.damaged) == (6, 6, {}, {}, [])
    assert found.complaint is None
    # And its plan is a plan: the experiments are those that were run, wherever they lie.
    again = check_plan(multiply(read_plan(root / "plan.yaml"))).cases
    assert {str(identify(case.experiment)) for case in again} == {path.name for path in (root / "runs").iterdir()}


def test_a_recorded_load_is_packed_only_where_somebody_says_that_it_may_be(folder: Path) -> None:
    found = packed(folder, "open*")
    assert [one["what"] for one in found.left_out] == ["inputs/closed.csv"]
    assert "nobody said that it may be given to others" in found.left_out[0]["why"]
    root = unpacked(folder, found)
    assert [path.name for path in (root / "inputs").iterdir()] == ["open.csv"]
    result = checked(root)
    assert (result.same, len(result.not_run)) == (4, 2)
    assert set(result.not_run.values()) == {"inputs/closed.csv was not packed; put it there"}
    # Whoever has it can go on; whoever has another of its name cannot.
    (root / "inputs" / "closed.csv").write_text("t_seconds,rate\n0,1\n", encoding="utf-8")
    assert set(checked(root).not_run.values()) == {"inputs/closed.csv is not the file that was used"}
    source = folder.parent / "loads" / "closed.csv"
    (root / "inputs" / "closed.csv").write_bytes(source.read_bytes())
    assert checked(root).same == 6


def test_values_that_differ_are_told_with_table_column_and_row(folder: Path) -> None:
    root = unpacked(folder, packed(folder, "*"))
    changed = next((root / "runs").iterdir())
    table = pq.read_table(changed / "ticks.parquet")
    ready = table["ready"].to_pylist()
    column = table.schema.get_field_index("ready")
    other = table.set_column(
        column, table.schema.field("ready"), pa.array([*ready[:2], 11, *ready[3:]], table.schema.types[column])
    )
    pq.write_table(other, changed / "ticks.parquet")
    found = checked(root)
    assert found.differing == {changed.name: f"ticks.ready: row 2: 11 there, {ready[2]} here"}
    assert found.damaged == [f"runs/{changed.name}/ticks.parquet"]
    assert (found.same, found.complaint) == (5, "it does not give the same here")


def test_code_of_others_is_not_run_unless_it_is_trusted(folder: Path) -> None:
    root = unpacked(folder, packed(folder, "*"))
    with pytest.raises(BadInput, match=r"code of others, which would run here: packed_policy.py, packed_size.py; read"):
        check_bundle(root, root.parent / "again", Here(), trusts_code=False)
    assert not (root.parent / "again").exists()


def test_code_that_a_manifest_is_silent_about_is_not_run_either(folder: Path) -> None:
    """Whoever packs an archive by hand writes what they like into it."""
    root = unpacked(folder, packed(folder, "*"))
    for module in ("packed_policy", "packed_size"):
        sys.modules.pop(module, None)
    manifest = json.loads((root / "MANIFEST.json").read_text())
    (root / "MANIFEST.json").write_text(json.dumps({**manifest, "code": [], "files": {}}))
    with pytest.raises(BadInput, match=r"code of others, which would run here: packed_policy:Packed; read it"):
        check_bundle(root, root.parent / "again", Here(), trusts_code=False)
    assert "packed_policy" not in sys.modules
    assert str(root) not in sys.path


@pytest.mark.parametrize("key", ["name", "code", "files", "inputs"])
def test_a_manifest_that_makes_no_sense_is_told_in_one_line(folder: Path, key: str) -> None:
    root = unpacked(folder, packed(folder, "*"))
    manifest = json.loads((root / "MANIFEST.json").read_text())
    for bad in ({**manifest, key: 7}, {name: value for name, value in manifest.items() if name != key}):
        (root / "MANIFEST.json").write_text(json.dumps(bad))
        with pytest.raises(BadInput, match="this is no archive of `elastream bundle`"):
            check_bundle(root, root.parent / "again", Here(), trusts_code=False)


def test_an_archive_that_would_fill_a_disk_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bundle/MANIFEST.json", "{}")
        archive.writestr("bundle/zeros", bytes(10_000_000))
    with pytest.raises(BadInput, match=r"bomb.zip: it holds more than an archive of runs would"):
        unpack_archive(tmp_path / "bomb.zip", tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("member", ["../outside.txt", "/etc/outside.txt", "bundle/../../outside.txt", "alone.txt"])
def test_an_archive_writes_nothing_outside_of_its_folder(tmp_path: Path, member: str) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("bundle/MANIFEST.json", "{}")
        archive.writestr(member, "x")
    with pytest.raises(BadInput, match=r"bad.zip: this is no archive of `elastream bundle`"):
        unpack_archive(tmp_path / "bad.zip", tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_what_is_no_archive_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"no archive")
    with pytest.raises(BadInput, match=r"x.zip: it cannot be unpacked: File is not a zip file"):
        unpack_archive(tmp_path / "x.zip", tmp_path / "to")
    (tmp_path / "plain").mkdir()
    with pytest.raises(BadInput, match=r"plain: this is no archive of `elastream bundle`"):
        check_bundle(tmp_path / "plain", tmp_path / "again", Here(), trusts_code=False)


def test_how_to_cite_it_is_yaml_with_what_the_format_asks_for(folder: Path) -> None:
    found = packed(folder)
    content = found.members["CITATION.cff"]
    assert isinstance(content, bytes)
    cited = yaml.safe_load(content)
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["authors"] == [{"given-names": "Ada", "family-names": "Lovelace"}, {"name": "Analysts"}]
    assert (cited["abstract"], cited["license"]) == ("whose is it?", "CC-BY-4.0")


def test_runs_that_do_not_count_are_left_out_and_told(folder: Path) -> None:
    damaged = next((folder / "runs").iterdir())
    (damaged / "ticks.parquet").write_bytes(b"half")
    found = packed(folder, "*")
    assert (found.runs, found.left_out) == (5, [{"what": "1 run", "why": "damaged"}])
    assert not any(name.startswith(f"runs/{damaged.name}") for name in found.members)
    assert json.loads(found.members["MANIFEST.json"])["runs"] == 5  # type: ignore[arg-type]


def test_the_plan_beside_the_runs_can_be_run_from_there(folder: Path) -> None:
    """What it read from the plan's own folder is named from anywhere."""
    kept = check_plan(multiply(read_plan(folder / "plan.yaml"))).cases
    assert {str(identify(case.experiment)) for case in kept} == {path.name for path in (folder / "runs").iterdir()}


def test_runs_are_the_same_only_if_every_table_is(folder: Path) -> None:
    first, second, *_ = sorted((folder / "runs").iterdir())
    assert find_difference(first, first) is None
    assert find_difference(first, second) is not None
