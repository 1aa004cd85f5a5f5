"""Our curves beside those of the document, by their shape: its machines were other ones, so rates say nothing.

Of every step from a layout to the next larger one the document tells how much more was sustained. The same steps of
ours, in the same direction and with the same factors, are scored by their efficiency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import pairwise

from elastream.core.decision import Json
from elastream.experiments.replication.published import read_published, read_value
from elastream.experiments.scalability.scaling import ScalingCurve

COLUMN = "structured_streaming"
# Published rates are precise to 10 to 20 thousand, which is up to a quarter of the smallest of them.
_TOLERANCE = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeStep:
    """From a layout to the next larger one."""

    step: str
    """Such as 1 to 2."""
    published: float
    found: float | None

    @property
    def agrees(self) -> bool | None:
        """Whether both say nearly the same; None: it was not measured."""
        return None if self.found is None else abs(self.found - self.published) <= _TOLERANCE * self.published


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeScore:
    """A curve beside the published one of its direction."""

    title: str
    published: str
    steps: tuple[ShapeStep, ...]

    @property
    def known(self) -> list[ShapeStep]:
        """Steps that both have."""
        return [one for one in self.steps if one.found is not None]

    def sentence(self) -> str:
        """In words."""
        agreeing = sum(one.agrees is True for one in self.known)
        parts = ", ".join(f"{one.step}: {one.found:.0%} (published {one.published:.0%})" for one in self.known)
        return f"{self.title} beside {self.published}: {agreeing} of {len(self.known)} efficiencies agree; {parts}"

    def as_json(self) -> dict[str, Json]:
        """As plain values."""
        return {
            "curve": self.title,
            "published": self.published,
            "steps": [{"step": one.step, "published": one.published, "found": one.found, "agrees": one.agrees}
                      for one in self.steps],
        }  # fmt: skip


def score_shape(job: str, curves: Sequence[ScalingCurve]) -> list[ShapeScore]:
    """A score for each curve of a job of the document that has a step with it in common."""
    found = []
    for curve in curves:
        published = published_rates(job, curve.curve.direction)
        steps = tuple(_steps(published, dict(curve.measured)))
        if any(one.found is not None for one in steps):
            told = f"Structured Streaming, {job}, {curve.curve.direction} (van Dongen and Van den Poel, 2021)"
            found.append(ShapeScore(title=curve.curve.title, published=told, steps=steps))
    return found


def published_rates(job: str, direction: str) -> dict[int, float]:
    """Number of workers, or of cores of each -> rate; empty: the document has no such job."""
    with as_file(files("elastream.experiments.scalability").joinpath("tables/vandongen_scalability.csv")) as file:
        rows = [row for row in read_published(file) if row["pipeline"] == job]
    counted = "workers" if direction == "horizontal" else "cores_per_worker"
    found: dict[int, float] = {}
    for row in rows:
        # The largest layout ends both curves, with two rates; the printed efficiencies follow from the first of them.
        is_largest = row["workers"] == row["cores_per_worker"] == "6"
        rate = read_value(row, COLUMN)
        if rate is not None and (row["direction"] == direction or is_largest):
            found.setdefault(int(row[counted]), rate)
    return found


def _steps(published: dict[int, float], found: dict[int, float]) -> list[ShapeStep]:
    numbers = sorted(published)
    steps = []
    for one, larger in pairwise(numbers):
        factor = larger / one
        ours = found[larger] / found[one] / factor if one in found and larger in found else None
        steps.append(
            ShapeStep(step=f"{one} to {larger}", published=published[larger] / published[one] / factor, found=ours)
        )
    return steps
