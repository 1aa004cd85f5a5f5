"""The sessions of a script that knows nothing of us: each is set up before it is made, and followed once it is there.

A few methods of pyspark are wrapped. `SparkContext.__init__` is where settings can still reach the driver's JVM before
it starts (master, jars); `_initialize_context` is called with everything that the script, spark-submit and
spark-defaults.conf have set, so that only what is missing is added; `SparkSession.__init__` is passed by every way to a
session, `newSession()` and the one inside foreachBatch among them; `SparkContext.stop` ends what follows it. Before
`DataStreamWriter.start` there is a last chance to say what the first batch would freeze.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from elastream.attachment import Attachment, SwitchedOff, attach
from elastream.config import Settings
from elastream.core.bounds import spell_bounds
from elastream.core.errors import BadInput, CannotRun, ElastreamError
from elastream.core.protocols import Journal
from elastream.core.sanitizer import REDACTION, use_pattern
from elastream.development.cluster.driver import (
    SUBMIT_ARGS,
    DriverEnvironment,
    running_gateway,
    settings_for_driver,
    with_properties,
)
from elastream.development.cluster.finder import find_cluster
from elastream.development.cluster.folder import ClusterFolder
from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster, spark_home
from elastream.development.kafka.jars import connector_jars
from elastream.journal.decision_lines import DecisionLines
from elastream.launch import LAUNCHER, partitions
from elastream.launch.orders import LaunchOrders
from elastream.launch.setting_up import (
    MASTER,
    MachineRoom,
    fitting_this_machine,
    is_bounded,
    is_off,
    missing_settings,
    outside,
    require_elastic,
    settings_for,
    speaks_connect,
    without_progress,
)
from elastream.launch.telling import Telling, put, so_many, speak_json
from elastream.spark.admission import JavaConf, require_admission

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# A driver's JVM that is told to go needs about a second; one that hangs is left to itself.
JVM_END_S = 15.0


def _be_silent(line: str) -> None:
    """Nobody wants to be told."""


class Refused(SystemExit):
    """The script cannot be run with us; the reason has been said."""


class Sessions:
    """Sets up and follows every session that a script makes."""

    def __init__(self, orders: LaunchOrders, say: Callable[[str], None]) -> None:
        self.refused: int | None = None
        """The exit code of a refusal."""
        self._orders = orders
        self._say = say
        self._settings: dict[str, Any] = dict(orders.settings)
        self._telling = Telling(say, quiet=orders.quiet)
        self._context: SparkContext | None = None
        self._handle: Attachment | SwitchedOff | None = None
        self._cluster: LocalCluster | None = None
        self._environment = DriverEnvironment()
        self._advised = False
        self._journal: str | None = None
        self._process = os.getpid()

    def install(self) -> None:
        """Wrap pyspark, before the script imports it."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
        from pyspark.sql.streaming.readwriter import DataStreamWriter

        _wrap(SparkSession.Builder, "getOrCreate", self._around_builder)
        _wrap(SparkSession.Builder, "create", self._around_builder)
        _wrap(SparkContext, "__init__", self._around_context)
        _wrap(SparkContext, "_initialize_context", self._around_start)
        _wrap(SparkSession, "__init__", self._around_session)
        _wrap(SparkContext, "stop", self._around_stop)
        _wrap(DataStreamWriter, "start", self._around_query)
        _wrap(DataStreamWriter, "toTable", self._around_query)

    def end(self) -> None:
        """Let go of the application, and of the cluster if it is ours; what has happened is said in one line."""
        if os.getpid() != self._process:
            # A copy of the process that the script has made; all this is its parent's.
            return
        self._leave()
        summary = self._telling.summary()
        if summary is not None:
            self._say(f"{summary}{f', journal in {self._journal}' if self._journal else ''}")
        if self._cluster is not None:
            # The driver first: one that loses its master prints pages.
            _end_jvm()
            self._cluster.__exit__(None, None, None)
            self._cluster = None

    def _around_builder(self, original: Callable[..., object], builder: SparkSession.Builder) -> object:
        options = builder._options
        # Only what the script sets too: the rest reaches the session through its context.
        builder._options = {**options, **{key: value for key, value in self._orders.conf.items() if key in options}}
        if speaks_connect(builder._options, os.environ) and not is_off({**options, **self._orders.conf}):
            self._refuse(
                CannotRun(
                    "Spark Connect has no driver to attach to: run the script with a classic session, that is without "
                    "a remote address in it or in SPARK_REMOTE"
                )
            )
        return original(builder)

    def _around_context(
        self, original: Callable[..., None], context: SparkContext, *args: object, **kwargs: object
    ) -> None:
        bound = inspect.signature(original).bind(context, *args, **kwargs)
        given = bound.arguments
        if given.get("gateway") is None and given.get("jsc") is None:
            conf = given["conf"] = self._chosen(given.get("conf"), given.pop("master", None))
            if not _jvm_runs():
                with self._refusing():
                    for key, value in self._before_jvm(dict(conf.getAll())).items():
                        conf.set(key, value)
        original(*bound.args, **bound.kwargs)
        # What the JVM has read, other processes of the script need not know.
        self._environment.restore(SUBMIT_ARGS)
        if self._cluster is not None:
            self._cluster.settings_for_driver()

    def _chosen(self, conf: SparkConf | None, master: str | None) -> SparkConf:
        """The script's settings, with what the command line says in their place."""
        from pyspark import SparkConf

        chosen = SparkConf() if conf is None else SparkConf(loadDefaults=False)
        for key, value in () if conf is None else conf.getAll():
            chosen.set(key, value)
        if master:
            chosen.setMaster(master)
        for key, value in self._orders.conf.items():
            chosen.set(key, value)
        return chosen

    def _before_jvm(self, conf: dict[str, str]) -> dict[str, str]:
        """What only the start of the JVM can bring about."""
        if self._orders.properties is not None:
            arguments = with_properties(os.environ.get(SUBMIT_ARGS, ""), self._orders.properties)
            self._environment.set(SUBMIT_ARGS, arguments)
        found = {**outside(os.environ, spark_home()), **conf}
        added = self._join(found)
        if self._orders.kafka:
            added |= _kafka_jars(found, self._say)
        if is_off(found):
            return added
        # Later, Spark has set this itself, and what the script wants can no longer be told from that.
        added |= without_progress(found, self._found(found))
        if MASTER in found:
            require_elastic({"spark.decommission.enabled": "true", **found})
            return added
        return {**added, **self._own_cluster(found)}

    def _join(self, conf: dict[str, str]) -> dict[str, str]:
        """What a driver on a cluster of one's own needs, if it is to run on one; the secret is in a file."""
        if self._orders.cluster is not None:
            folder: ClusterFolder | None = ClusterFolder(path=self._orders.cluster)
        else:
            folder = None if "spark.authenticate" in conf else find_cluster(conf.get(MASTER, ""))
        if folder is None:
            return {}
        wanted = settings_for_driver(folder, self._environment)
        return {key: value for key, value in wanted.items() if key not in self._orders.conf}

    def _own_cluster(self, conf: dict[str, str]) -> dict[str, str]:
        if not is_bounded(self._settings, conf, self._orders.config):
            self._settings["executors.max"] = fitting_this_machine()
        # What rules the script out is said before a cluster is started for it.
        require_elastic({"spark.decommission.enabled": "true", **conf, MASTER: "spark://of-its-own"})
        if self._cluster is None:
            room = MachineRoom.of(conf, self._found(conf).executors.max)
            self._say(
                f"no master is named: starting a cluster on this machine, with room for {so_many(room.executors)}"
            )
            cluster = LocalCluster(ClusterSettings(workers=2, cores=room.cores, memory=room.memory))
            cluster.__enter__()
            self._cluster = cluster
        return self._cluster.settings_for_driver()

    def _around_start(self, original: Callable[..., object], context: SparkContext, jconf: JavaConf) -> object:
        from pyspark import SparkConf

        conf = dict(SparkConf(_jconf=jconf).getAll())
        with self._refusing():
            use_pattern(conf.get(REDACTION))
        if conf.get("spark.app.name") == LAUNCHER.name:
            # spark-submit names an application after its main file.
            jconf.set("spark.app.name", self._orders.script.name)
            context.appName = self._orders.script.name
        if not is_off(conf):
            with self._refusing():
                for key, value in missing_settings(conf, self._found(conf)).items():
                    conf[key] = value
                    jconf.set(key, value)
                require_elastic(conf)
                if (jvm := _jvm()) is not None:
                    require_admission(jvm, jconf)
        return original(context, jconf)

    def _around_session(
        self, original: Callable[..., None], spark: SparkSession, *args: object, **kwargs: object
    ) -> None:
        original(spark, *args, **kwargs)
        # Inside foreachBatch a session is made for every batch.
        if spark._sc is not self._context:
            self._context = spark._sc
            self._follow(spark)

    def _follow(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        with self._refusing():
            conf = dict(context.getConf().getAll())
            found = self._found(conf)
            self._journal = str(found.journal.folder) if found.journal.folder is not None else None
            slo = found.slo.build()
            journals = self._journals(found)
            self._telling.begin(
                f"{found.policy} decides on {spell_bounds(found.executors.min, found.executors.max)} executors of "
                f"{context.appName}, {context.applicationId}{f'; SLO: {slo.sentence()}' if slo else ''}"
            )
            try:
                self._handle = attach(spark, config=self._orders.config, journals=journals, **self._settings)
                self._tell_page(found)
            except (BadInput, CannotRun):
                raise
            except Exception as error:
                self._go_on(error)

    def _tell_page(self, found: Settings) -> None:
        if not isinstance(self._handle, Attachment) or self._handle.page is None:
            return
        token = found.page.token
        lies = "" if token is None else f"; the token that controls it lies in {token.expanduser().absolute()}"
        self._say(f"the page of this run: {self._handle.page}{lies}")

    def _journals(self, found: Settings) -> list[Journal]:
        """Who tells of decisions: lines for people, or JSON for programs."""
        if found.log.format != "json":
            return [self._telling]
        speak_json()
        self._telling.quieten()
        return [self._telling, DecisionLines(_be_silent if self._orders.quiet else put)]

    def _found(self, conf: dict[str, str]) -> Settings:
        """What everybody has set, with an application's own properties among it."""
        return settings_for(self._settings, conf, self._orders.config)

    def _around_query(
        self, original: Callable[..., object], writer: DataStreamWriter, *args: object, **kwargs: object
    ) -> object:
        # Advice is no reason to keep a query from its start, nor is the want of it.
        with suppress(Exception):
            self._advise(writer)
        return original(writer, *args, **kwargs)

    def _advise(self, writer: DataStreamWriter) -> None:
        if self._advised or self._context is None or not isinstance(self._handle, Attachment):
            return
        conf = dict(self._context.getConf().getAll())
        slots = self._found(conf).executors.max * int(conf.get("spark.executor.cores", "1"))
        line = partitions.warning(writer, slots)
        if line is not None:
            self._advised = True
            self._say(line)

    def _around_stop(self, original: Callable[..., None], context: SparkContext) -> None:
        # Before the context goes: a loop that loses it would tell of a trouble that is none.
        if context is self._context:
            self._leave()
        original(context)

    def _leave(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.detach()

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """What Elastream itself says is wrong ends the script; whatever else fails in us is no reason to."""
        try:
            yield
        except ElastreamError as reason:
            self._refuse(reason)
        except Exception as error:
            self._go_on(error)

    def _go_on(self, error: Exception) -> None:
        kind = "" if isinstance(error, ElastreamError) else f"{type(error).__name__}: "
        self._say(f"{kind}{error}; the application goes on with the executors it has")

    def _refuse(self, reason: ElastreamError) -> None:
        if self._telling.ticks:
            # Queries have run; what is theirs is not ended because a later session does not suit us.
            self._go_on(reason)
            return
        if self.refused is None:
            self._say(f"{self._orders.script.name}: {reason}")
        self.refused = 2 if isinstance(reason, BadInput | CannotRun) else 1
        if threading.current_thread() is not threading.main_thread():
            self._end_here(self.refused)
        raise Refused(self.refused)

    def _end_here(self, code: int) -> NoReturn:
        """In a thread of the script, leaving would end only that thread."""
        self.end()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(code)


def _wrap(owner: type, name: str, around: Callable[..., object]) -> None:
    original = getattr(owner, name, None)
    if original is None:  # not in this version of Spark
        return

    @functools.wraps(original)
    def wrapped(self: object, *args: object, **kwargs: object) -> object:
        return around(original, self, *args, **kwargs)

    setattr(owner, name, wrapped)


def _jvm_runs() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ or running_gateway() is not None


def _jvm() -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm


def _kafka_jars(conf: dict[str, str], say: Callable[[str], None]) -> dict[str, str]:
    named = [jar for jar in conf.get("spark.jars", "").split(",") if jar]
    return {"spark.jars": ",".join([*named, *(str(jar) for jar in connector_jars(say))])}


def _end_jvm() -> None:
    """A driver's JVM ends when the process that started it closes its pipe."""
    process = getattr(running_gateway(), "proc", None)
    if process is None:
        return
    with suppress(Exception):
        process.stdin.close()
        process.wait(JVM_END_S)
