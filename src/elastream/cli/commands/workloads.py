"""`elastream workloads`."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from elastream.cli.parsing.completion import complete_workloads
from elastream.cli.parsing.options import Json
from elastream.cli.parsing.texts import read_seconds
from elastream.cli.terminal.drawing import draw
from elastream.cli.terminal.output import console, print_json, print_table
from elastream.cli.terminal.settings_table import print_settings, settings_json
from elastream.cli.terminal.strips import Block, TextStrip, compact
from elastream.core.callform import is_class_path
from elastream.workloads import Pattern, RateSeries, parse_workload, shipped_traces
from elastream.workloads import workloads as known
from elastream.workloads.kanis import DURATIONS_S
from elastream.workloads.tracefile import read_recording

DURATION_S = 140 * 60.0


def workloads(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|TEXT]", help="A name to show, or a workload to draw.", autocompletion=complete_workloads
        ),
    ] = None,
    duration: Annotated[str | None, typer.Option(metavar="DURATION", help="How much of it to draw.")] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed draws the same series.")] = 0,
    json: Json = False,
) -> None:
    """List patterns, presets and recorded traces; show the settings of one, or draw a workload.

    [bold]Examples[/bold]

    elastream workloads

    elastream workloads cosine

    elastream workloads 'cosine(20k..80k, period=60m) + 2 * spike(10k, at=40m)' --duration 90m

    elastream workloads 'trace(dsp_taxi_300s, stretch=0.125, baseline=78k, peak=100k)' --json
    """
    if text is None:
        _list(json=json)
    elif text in known.names() or is_class_path(text):
        _show(text, duration, seed, json=json)
    else:
        pattern = parse_workload(f"trace({text})" if text in shipped_traces() else text)
        _draw(pattern, _length(text, duration), seed, json=json)


def _list(*, json: bool) -> None:
    presets = known.presets()
    patterns = [name for name in known.names() if name not in presets]
    lengths = {name: read_recording(name).length_s for name in shipped_traces()}
    if json:
        print_json(
            {
                "patterns": [{"name": name, "doc": known.doc(name)} for name in patterns],
                "presets": [{"name": name, "doc": known.doc(name)} for name in presets],
                "traces": [{"name": name, "length_s": length_s} for name, length_s in lengths.items()],
            }
        )
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row("patterns", "", style="bold")
    for name in patterns:
        table.add_row(f"  {name}", known.doc(name))
    table.add_row("presets", "", style="bold")
    for name in presets:
        table.add_row(f"  {name}", known.doc(name))
    table.add_row("traces", "", style="bold")
    for name, length_s in lengths.items():
        days = length_s / 86400
        table.add_row(f"  {name}", f"{days:.0f} days recorded" if days >= 2 else f"{length_s / 3600:.1f} h recorded")
    screen = console()
    print_table(screen, table)
    screen.print()
    screen.print("Settings of one: elastream workloads NAME. Draw one: elastream workloads 'cosine(20k..80k)'")


def _show(name: str, duration: str | None, seed: int, *, json: bool) -> None:
    """The settings of a pattern or preset; one that needs no more settings is drawn too."""
    settings = known.settings(name)
    pattern = None if any(one.required for one in settings) else parse_workload(name)
    length_s = _length(name, duration)
    if json:
        shown: dict[str, object] = {"name": name, "doc": known.doc(name), "settings": settings_json(settings)}
        print_json(shown | ({"drawn": _as_json(pattern, length_s, seed)} if pattern is not None else {}))
        return
    screen = console()
    screen.print(Text.assemble((name, "bold"), f": {known.doc(name)}"))
    screen.print()
    print_settings(screen, settings)
    if pattern is not None:
        screen.print()
        _draw(pattern, length_s, seed, json=False)


def _draw(pattern: Pattern, duration_s: float, seed: int, *, json: bool) -> None:
    if json:
        print_json(_as_json(pattern, duration_s, seed))
        return
    series = pattern.series(duration_s=duration_s, seed=seed)
    points = _points(series)
    times, rates = [at_s for at_s, _ in points], [rate for _, rate in points]
    screen = console()
    screen.print(Text(str(pattern), style="cyan"))
    strip = TextStrip(label="rate", at_s=times, values=rates, unit="/s", style="cyan")
    draw(screen, [Block(heading="", strips=[strip])], duration_s)
    screen.print(
        f"min {compact(min(rates))}/s, mean {compact(series.mean_rps)}/s, max {compact(max(rates))}/s; "
        f"{compact(series.arrived(duration_s))} records"
    )


def _as_json(pattern: Pattern, duration_s: float, seed: int) -> dict[str, object]:
    series = pattern.series(duration_s=duration_s, seed=seed)
    points = _points(series)
    return {
        "workload": str(pattern),
        "duration_s": duration_s,
        "seed": seed,
        "min_rps": min(rate for _, rate in points),
        "mean_rps": series.mean_rps,
        "max_rps": series.max_rps,
        "series": [list(point) for point in points],
    }


def _points(series: RateSeries) -> list[tuple[float, float]]:
    """Times and rates within the duration."""
    pairs = zip(series.times_s.tolist(), series.rates.tolist(), strict=True)
    return [(at_s, rate) for at_s, rate in pairs if at_s < series.duration_s]


def _length(text: str, duration: str | None) -> float:
    """What was asked for, or else as long as it was defined or recorded."""
    if duration is not None:
        return read_seconds(duration, "--duration")
    if text in shipped_traces():
        return read_recording(text).length_s
    return DURATIONS_S.get(text, DURATION_S)
