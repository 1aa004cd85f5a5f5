"""A study goes through its layouts; what was found is kept, whatever happens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from elastream.core.errors import BadInput, ElastreamError
from elastream.experiments.scalability.layout import Layout, Work
from elastream.experiments.scalability.limits import ProbeLimit
from elastream.experiments.scalability.probe import ProbeState, ProbeTerms, ProbeVerdict
from elastream.experiments.scalability.recording import ProbeRecording
from elastream.experiments.scalability.search import RateSearch
from elastream.experiments.scalability.store import PROBE, ProbeStore, StoredProbe
from elastream.experiments.scalability.study import LayoutResult, ProbeRun, ScalabilityStudy, Show


@dataclass
class Ground:
    """Layouts that sustain so much for each slot."""

    per_slot_rps: float = 1_000.0
    dies_on: tuple[str, ...] = ()
    breaks_on: tuple[str, ...] = ()
    interrupted_after: int = 10_000
    probes: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def open(self, layout: Layout) -> Iterator["Bench"]:
        if layout.name in self.dies_on:
            raise ElastreamError("cluster: no worker came")
        yield Bench(self, layout)


@dataclass
class Bench:
    ground: Ground
    layout: Layout

    def run(self, terms: ProbeTerms, folder: Path, show: Show) -> ProbeRun:
        if len(self.ground.probes) == self.ground.interrupted_after:
            raise KeyboardInterrupt
        self.ground.probes.append((self.layout.name, terms.rate_rps))
        assert (terms.workers, terms.cores) == (self.layout.workers, self.layout.slots)
        passes = terms.rate_rps <= self.ground.per_slot_rps * self.layout.slots
        state: ProbeState = "sustained" if passes else "unsustained"
        if self.layout.name in self.ground.breaks_on:
            state = "broken"
        limit = ProbeLimit(kind="processor", sentence=f"limit of {terms.rate_rps:g}", evidence={"used": 0.9})
        verdict = ProbeVerdict(state=state, reason="the job died" if state == "broken" else "so it was")
        return ProbeRun(verdict=verdict, recording=ProbeRecording("real"), limits=(limit,))


class Quiet:
    def __init__(self) -> None:
        self.results: list[LayoutResult] = []

    def begin_layout(self, layout: Layout, known: int) -> None: ...
    def begin_probe(self, layout: Layout, rate_rps: float, number: int) -> None: ...
    def at(self, share: float) -> None: ...
    def end_probe(self, probe: StoredProbe) -> None: ...
    def end_layout(self, result: LayoutResult) -> None:
        self.results.append(result)


LAYOUTS = (Layout(2, 1), Layout(1, 1), Layout(4, 1))


def study(folder: Path, ground: Ground, work: Work = "real") -> ScalabilityStudy:
    store = ProbeStore(folder)
    store.open({"job": "wordcount", "work": work})
    return ScalabilityStudy(
        layouts=LAYOUTS, work=work, search=RateSearch(start_rps=400.0), ground=ground, store=store,
        terms=ProbeTerms(rate_rps=1.0, workers=1, cores=1),
    )  # fmt: skip


def test_layouts_are_searched_from_the_smallest_on_and_begin_with_what_the_one_before_sustains(tmp_path: Path) -> None:
    ground = Ground()
    results = study(tmp_path, ground).run(Quiet())
    assert [one.layout.name for one in results] == ["1x1", "2x1", "4x1"]
    for one in results:
        assert one.rate_rps == pytest.approx(1_000 * one.layout.slots, rel=0.1)
    first = dict(reversed(ground.probes))
    assert results[0].rate_rps is not None
    assert first["2x1"] == pytest.approx(2 * results[0].rate_rps, rel=0.01)


def test_an_interrupted_study_goes_on_and_ends_with_the_same(tmp_path: Path) -> None:
    whole = study(tmp_path / "whole", Ground()).run(Quiet())
    torn = tmp_path / "torn"
    with pytest.raises(KeyboardInterrupt):
        study(torn, Ground(interrupted_after=11)).run(Quiet())
    # The one that was interrupted has no verdict, and counts for nothing.
    ground = Ground()
    found = study(torn, ground).run(Quiet())
    assert [one.sentence() for one in found] == [one.sentence() for one in whole]
    assert len(ground.probes) == sum(len(one.probes) for one in whole) - 11
    assert all((folder / PROBE).exists() for folder in torn.glob("*/probe-*"))


def test_what_is_known_is_collected_without_running_anything(tmp_path: Path) -> None:
    done = study(tmp_path, Ground())
    found = done.run(Quiet())
    again = Ground()
    assert [one.sentence() for one in study(tmp_path, again).collect()] == [one.sentence() for one in found]
    assert again.probes == []
    assert [one.stopped for one in study(tmp_path / "new", again).collect()] == ["it was not probed"] * 3


def test_a_layout_that_cannot_be_had_is_told_and_the_next_has_its_turn(tmp_path: Path) -> None:
    results = study(tmp_path, Ground(dies_on=("2x1",))).run(Quiet())
    assert results[1].sentence() == "2x1 has no result: cluster: no worker came"
    assert results[2].rate_rps == pytest.approx(4_000, rel=0.1)


def test_a_job_that_dies_again_and_again_ends_the_search_of_its_layout(tmp_path: Path) -> None:
    results = study(tmp_path, Ground(breaks_on=("1x1",))).run(Quiet())
    assert results[0].sentence() == "1x1 has no result: the job died"
    assert len(results[0].probes) == 2
    assert results[1].rate_rps is not None


def test_what_keeps_a_layout_from_more_is_what_was_said_of_the_lowest_rate_that_failed(tmp_path: Path) -> None:
    result = study(tmp_path, Ground()).run(Quiet())[0]
    assert result.found is not None
    assert [one.sentence for one in result.limits] == [f"limit of {result.found.below_rps:g}"]
    assert result.limits[0].evidence == {"used": 0.9}


def test_a_folder_holds_one_experiment(tmp_path: Path) -> None:
    study(tmp_path, Ground())
    with pytest.raises(BadInput, match="holds probes of another experiment \\(work: 'real', asked for 'emulated'\\)"):
        study(tmp_path, Ground(), "emulated")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(BadInput, match="is not empty"):
        ProbeStore(tmp_path / "other").open({})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"rate_rps": 1}', '{"rate_rps": NaN}'])
def test_a_probe_that_was_damaged_is_told_with_its_file(tmp_path: Path, text: str) -> None:
    done = study(tmp_path, Ground())
    done.run(Quiet())
    file = next(tmp_path.glob(f"1x1/probe-001*/{PROBE}"))
    file.write_text(text)
    with pytest.raises(BadInput, match=r"probe-001.*probe\.json"):
        study(tmp_path, Ground()).collect()
