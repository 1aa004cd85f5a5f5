"""A script run as Python itself runs one, in a process that has already begun."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import TracebackType

_OURS = str(Path(__file__).parent)


def run_as_main(path: Path, arguments: Sequence[str]) -> None:
    """Execute a script in the place of `__main__`; what it raises flies on, to be printed without our frames."""
    sys.argv = [str(path), *arguments]
    file = str(path.absolute())
    if not sys.flags.safe_path:
        sys.path.insert(0, str(path.resolve().parent))
    # In the module that Python began with, so that pickling, multiprocessing and the end of the process find the script
    # where they look for it.
    names = sys.modules["__main__"].__dict__
    names.clear()
    names.update(
        __name__="__main__",
        __file__=file,
        __builtins__=__builtins__,
        __cached__=None,
        __doc__=None,
        __loader__=SourceFileLoader("__main__", file),
        __package__=None,
        __spec__=None,
    )
    before, sys.excepthook = sys.excepthook, _print_without_us
    # What this file imports from the future is not for the script.
    code = compile(path.read_bytes(), file, "exec", dont_inherit=True)
    exec(code, names)
    sys.excepthook = before if sys.excepthook is _print_without_us else sys.excepthook


def _print_without_us(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    for one in _chain(error):
        one.__traceback__ = without_us(one.__traceback__)
    sys.__excepthook__(kind, error, error.__traceback__)


def without_us(trace: TracebackType | None) -> TracebackType | None:
    """A traceback as it would be without this package between Python, the script and Spark."""
    frames = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OURS):
            frames.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for one in reversed(frames):
        kept = TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return kept


def _chain(error: BaseException | None) -> list[BaseException]:
    """An error, and those it came from."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and not any(one is other for other in found):
            found.append(one)
            waiting += [one.__cause__, one.__context__]
    return found
