"""The terminal's live view at one moment of a recorded run, as an SVG.

    python -m tools.picture JOURNAL 110 docs/live.svg

The moment is in seconds after the query was first seen. The same code draws as in `elastream live`, from its ticks.
"""

import io
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from elastream.cli.terminal.live_picture import Moment, draw_picture
from elastream.core.bounds import spell_bounds
from elastream.evaluation.series import RunSeries
from elastream.journal.reader import read

WIDTH = 100


def main(journal: Path, at_s: float, to: Path) -> None:
    """Draw it."""
    part = read(journal).parts[0]
    ticks = list(part.ticks)
    began, seen = next((tick, tick.observation) for tick in ticks if tick.observation and tick.observation.queries)
    series = RunSeries(tick_s=part.header.tick_s, max_age_s=part.header.max_age_s)
    for tick in ticks:
        if tick.utc_s - began.utc_s <= at_s:
            series.update(tick)
    pool = seen.pools[0]
    moment = Moment(
        title=f"{part.header.policy} on {spell_bounds(pool.min_workers, pool.max_workers)} executors",
        notes=part.header.notes,
        duration_s=ticks[-1].utc_s - began.utc_s,
        zero_utc_s=began.utc_s,
        now_s=at_s,
    )
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False, force_terminal=True)
    for line in draw_picture(series, moment, width=WIDTH, encoding="utf-8"):
        console.print(line)
    console.save_svg(str(to), title="elastream live", theme=SVG_EXPORT_THEME)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
