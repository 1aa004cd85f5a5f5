"""A recorded run, as the series that it was."""

from dataclasses import dataclass

from elastream.evaluation.series import RunSeries
from elastream.journal.reader import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSeries:
    """The newest runs of a recording whose times follow each other."""

    series: RunSeries
    shown: Recording
    """Their part of the recording. Runs before cannot stand on the same axis, as their times overlap those of later
    ones."""
    left_out: int
    """How many runs that are."""


def read_series(recording: Recording) -> RecordedSeries:
    """The ticks of a recording, one after the other."""
    run, first_part = None, 0
    series = RunSeries(tick_s=recording.header.tick_s, max_age_s=recording.header.max_age_s)
    for number, part in enumerate(recording.parts):
        header = part.header
        for tick in part.ticks:
            if header.run != run:
                run = header.run
                if series.at and tick.utc_s <= series.at[-1]:
                    first_part, series = number, RunSeries(tick_s=header.tick_s, max_age_s=header.max_age_s)
                else:
                    series.begin(tick_s=header.tick_s, max_age_s=header.max_age_s)
            series.update(tick)
    return RecordedSeries(
        series=series,
        shown=Recording(parts=recording.parts[first_part:], warnings=recording.warnings),
        left_out=len({part.header.run for part in recording.parts[:first_part]}),
    )
