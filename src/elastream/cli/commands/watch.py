"""`elastream watch`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from elastream.cli.parsing.options import LogFormat, Redaction
from elastream.cli.parsing.setting_sources import hide_by
from elastream.cli.parsing.texts import read_log_format
from elastream.cli.terminal.output import tell, write_result
from elastream.cli.terminal.watch_view import WatchView
from elastream.core.errors import BadInput
from elastream.core.quantity import parse_quantity
from elastream.core.tick import Tick
from elastream.experiments.run_folder import JOURNAL, find_journal
from elastream.journal.decision_lines import DecisionLines
from elastream.journal.follower import JournalFollower
from elastream.journal.format import Header
from elastream.journal.writer import journal_files

if TYPE_CHECKING:
    from elastream.service.server import PageServer

LOOK_EVERY_S = 0.5
Entry = Header | Tick


class RunViewer(Protocol):
    """Is told of a run."""

    def begin_run(self, header: Header) -> None:
        """A run begins, or a file of it."""

    def write(self, tick: Tick) -> None:
        """Take in one tick."""


@dataclass(frozen=True, slots=True)
class PatientPage:
    """A page that is told of a recording no faster than it takes it, so that nothing is left out."""

    server: PageServer

    def begin_run(self, header: Header) -> None:
        """A run begins, or a file of it."""
        self.server.await_room()
        self.server.begin_run(header)

    def write(self, tick: Tick) -> None:
        """Take in one tick."""
        self.server.await_room()
        self.server.write(tick)


def watch(
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of a run or its journal; it may still be empty.")],
    speed: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="From the beginning, so many times as fast. Default: all that there is, then as it comes.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, metavar="NUMBER", help="Of the page. Default: 8620 or the next that is free."),
    ] = None,
    host: Annotated[
        str,
        typer.Option(metavar="NAME", help="Of the page; one that others can reach needs a token, for looking too."),
    ] = "127.0.0.1",
    token: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Holds the token for looking; made, for you alone, if there is none."),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page/--no-page", help="Serve the page, or show the run in the terminal only.")
    ] = True,
    log: LogFormat = None,
    conf: Redaction = None,
) -> None:
    """Show a run that goes on elsewhere, or a recorded one at any speed: on a page, and in the terminal.

    What is shown is what the run writes into its journal (`--journal`, `journal.folder`), wherever it runs; nothing is
    asked of it, so that it cannot be controlled from here. The page is served on this machine's loopback address, or on
    --host, until Ctrl-C.

    [bold]Examples[/bold]

    elastream watch runs/app

    elastream watch runs/first/threshold --speed 600

    elastream watch runs/app --no-page

    elastream watch runs/app --no-page --log json | jq .body

    elastream watch runs/app --host 0.0.0.0 --token ~/.elastream-token
    """
    hide_by(conf)
    factor = _read_speed(speed)
    folder = _find(path)
    entries = _follow(folder) if factor is None else _play(folder, factor)
    is_json = read_log_format(log) == "json"
    if not page:
        if is_json:
            _show(entries, DecisionLines(write_result))
        else:
            with WatchView(folder) as view:
                _show(entries, view)
        return
    # Brought by an extra.
    from elastream.render.page.feed import PageFeed
    from elastream.service.place import PagePlace
    from elastream.service.server import PageServer

    place = PagePlace(host=host, port=port, token=token)
    if is_json:
        with PageServer(PageFeed(), place=place, journal=folder) as server:
            tell(f"the page, until Ctrl-C: {server.address}")
            _show(entries, DecisionLines(write_result), server)
        return
    with WatchView(folder) as view, PageServer(PageFeed(), place=place, journal=folder) as server:
        view.note("the page, until Ctrl-C: ", [server.address])
        if token is not None:
            view.note("its token lies in ", [str(token.expanduser().absolute())])
        _show(entries, view, PatientPage(server))


def _show(entries: Iterator[list[Entry]], *views: RunViewer) -> None:
    for some in entries:
        for entry in some:
            for view in views:
                if isinstance(entry, Header):
                    view.begin_run(entry)
                else:
                    view.write(entry)


def _find(path: Path) -> Path:
    """The folder of a journal, also of one that is not begun yet."""
    if path.is_dir() and not journal_files(path):
        inner = path / JOURNAL
        return inner if inner.is_dir() else path if not any(path.iterdir()) else find_journal(path)
    found = find_journal(path)
    if found.is_file():
        raise BadInput(f"{path}: one file of a journal; name its folder")
    return found


def _follow(folder: Path) -> Iterator[list[Entry]]:
    """All that there is, and then whatever comes."""
    follower = JournalFollower(folder)
    while True:
        yield list(follower.read())
        for trouble in dict.fromkeys(follower.troubles):
            tell(trouble)
        follower.troubles.clear()
        time.sleep(LOOK_EVERY_S)


def _play(folder: Path, factor: float) -> Iterator[list[Entry]]:
    """What was recorded, at the pace at which it was, or so many times as fast."""
    last_s: float | None = None
    for entry in JournalFollower(folder).read():
        if isinstance(entry, Tick):
            passed_s = 0.0 if last_s is None else min(max(0.0, entry.utc_s - last_s), 3600.0)
            last_s = entry.utc_s
            time.sleep(passed_s / factor)
        yield [entry]
    # The page stays until it is no longer wanted.
    while True:
        yield []
        time.sleep(LOOK_EVERY_S)


def _read_speed(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        factor = parse_quantity(text.removesuffix("x")).value
    except BadInput:
        factor = 0.0
    if not 0 < factor < 1e9:
        raise BadInput(f"--speed: found {text!r}; it must be how many times as fast, more than 0")
    return factor
