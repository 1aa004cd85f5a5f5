"""A small JVM with Spark's classes and no Spark in it: the listener is given Spark's own events, by script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from elastream.daemons.java import java_home
from elastream.spark.jvm.compiler import make
from elastream.spark.jvm.listener import read_pieces
from elastream.spark.jvm.snapshot import Snapshot
from elastream.spark.jvm.snapshot_parser import parse_snapshot

# A minute of work: what would compile it well would take longer.
OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m")


@contextmanager
def jvm(options: Iterable[str] = OPTIONS) -> Iterator[Any]:
    """A gateway to a JVM that ends with the block."""
    import pyspark
    from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]

    jars = Path(pyspark.__file__).parent / "jars"
    gateway = JavaGateway.launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=str(jars / "*"),
        javaopts=list(options),
        java_path=str(java_home().java),
        die_on_exit=True,
    )
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process = gateway.java_process
        process.stdin.close()
        process.wait(timeout=30)


class EventPlayer:
    """A listener of its own, and the clock and the queries that it sees.

    `queries` makes, for a class loader of the JVM, what moves queries on and what tells the listener of them.
    """

    def __init__(self, gateway: Any, queries: Callable[[Any], tuple[Any, Any]] | None = None) -> None:
        # The first call compiles the listener, which the player must be able to see.
        loader = make(gateway, "Watch", None, make(gateway, "Queries", None)).getClass().getClassLoader()
        player = _compiled(gateway, loader, Path(__file__).parent / "EventPlayer.java")
        self.queries: Any
        if queries is None:
            self.queries = asked = _new(gateway, player, "elastream.testing.EventPlayer$Told")
        else:
            self.queries, asked = queries(loader)
        self._watch = make(gateway, "Watch", None, asked)
        self._player = _new(gateway, player, "elastream.testing.EventPlayer", self._watch)
        self._read = 0
        self.up_ms = 0
        self.utc_ms = 1_700_000_000_000
        self.pass_time(0)

    def pass_time(self, ms: int, *, clock_set_by_ms: int = 0) -> None:
        """Time passes; the time of day may also be set."""
        self.up_ms += ms
        self.utc_ms += ms + clock_set_by_ms
        self.play([("clock", self.up_ms, self.utc_ms)])

    def play(self, events: Iterable[tuple[object, ...]]) -> None:
        """Events in this order, each a name and its fields."""
        self._player.play("\n".join("\t".join(map(str, event)) for event in events))

    def tell(self, *queries: Mapping[str, Any]) -> None:
        """These are active."""
        self.queries.tell(json.dumps({"queries": queries}))

    def text(self) -> str:
        """A look as the JVM writes it, the notes before it having been read."""
        text = read_pieces(self._watch.look(self._read))
        self._read = int(json.loads(text)["note"])
        return text

    def look(self) -> Snapshot:
        """The same, read."""
        return self.look_and_size()[0]

    def look_and_size(self) -> tuple[Snapshot, int]:
        """A look, and how many bytes it had."""
        text = read_pieces(self._watch.look(self._read))
        seen = parse_snapshot(text)
        self._read = seen.note
        return seen, len(text)

    def sizes(self) -> dict[str, int]:
        """Entries of each collection of the ledger."""
        found: dict[str, int] = json.loads(self._player.sizes())
        return found


def compile_beside(gateway: Any, loader: Any, source: Path, name: str) -> Any:
    """A new object of a class from a Java file, which sees what the loader does."""
    return _new(gateway, _compiled(gateway, loader, source), name)


_LOADERS: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def _compiled(gateway: Any, seen_from: Any, source: Path) -> Any:
    # As in `janino`: compiled twice in one JVM, py4j would call the new class with the methods of the old one.
    known = _LOADERS.setdefault(gateway, {})
    if source.name not in known:
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(seen_from)
        compiler.cook(source.read_text())
        known[source.name] = compiler.getClassLoader()
    return known[source.name]


def _new(gateway: Any, loader: Any, name: str, *arguments: Any) -> Any:
    array = gateway.new_array(gateway.jvm.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    return loader.loadClass(name).getConstructors()[0].newInstance(array)
