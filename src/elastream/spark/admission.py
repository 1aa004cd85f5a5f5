"""Whether a standalone master lets a driver in, asked before its context is made.

A driver that has not the cluster's secret tries for more than a minute and then prints pages of SASL. So the master is
called once, by Spark's own means and with the driver's own settings: about a second, most of it for classes that the
driver needs anyway.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from elastream.core.errors import CannotRun

# A master that has just been started may not listen yet; Spark itself would try for a minute.
PATIENCE_S = 8.0
_PAUSE_S = 1.0
# What Spark's own logger of connections says of a refusal is a page, and we say it in a line.
_LOUD = "org.apache.spark.network"


class JavaConf(Protocol):
    """A `SparkConf` of the JVM, as far as it is called."""

    def get(self, key: str, default: str, /) -> str: ...

    def set(self, key: str, value: str, /) -> object: ...


class JavaError(Protocol):
    """A `Throwable` of the JVM, as far as it is called."""

    def getMessage(self) -> str | None: ...  # noqa: N802 (Java's name)

    def getClass(self) -> JavaClass: ...  # noqa: N802 (Java's name)

    def getCause(self) -> JavaError | None: ...  # noqa: N802 (Java's name)


class JavaClass(Protocol):
    """A `Class` of the JVM."""

    def getName(self) -> str: ...  # noqa: N802 (Java's name)


class JavaCaller(Protocol):
    """An `RpcEnv` of the JVM, as far as it is called."""

    def setupEndpointRef(self, address: object, name: str) -> object: ...  # noqa: N802 (Java's name)

    def shutdown(self) -> None: ...


# Of a whole JVM nothing has a type: every name in it is looked up when it is asked for.
Jvm = Any


def require_admission(jvm: Jvm, conf: JavaConf, *, patience_s: float = PATIENCE_S) -> None:
    """Raise CannotRun if no master of `conf`, a SparkConf of that JVM, lets a driver in.

    Whatever else is the matter, a master that is slow among it, is left to Spark.
    """
    until_s = time.monotonic() + patience_s
    url = str(conf.get("spark.master", ""))
    if not url.startswith("spark://"):
        return
    while (refusal := _refusal(jvm, conf, url)) is not None:
        # Only who does not listen yet may think better of it.
        if refusal.is_final or time.monotonic() >= until_s:
            raise CannotRun(f"{url}: {refusal.reason}")
        time.sleep(_PAUSE_S)


class Refusal(NamedTuple):
    """Why a driver is not let in."""

    reason: str
    is_final: bool


def read_refusal(causes: Sequence[tuple[str, str]], *, has_secret: bool) -> Refusal | None:
    """What the causes of a failed call (class and message, outermost first) say; None if that is nothing for sure."""
    kinds, said = " ".join(kind for kind, _ in causes), " ".join(text for _, text in causes)
    if "Timeout" in kinds:
        return None
    if "ConnectException" in kinds or "UnknownHost" in kinds or "UnresolvedAddress" in kinds:
        return Refusal(f"no master answers there ({causes[-1][1]}); is the cluster up?", is_final=False)
    if "Sasl" in kinds + said or "Outbox is stopped" in said or "secret key must be specified" in said:
        lacks = "the driver's secret is not the cluster's" if has_secret else "it wants a secret"
        return Refusal(
            f"the master refuses this driver: {lacks}; name a cluster of `elastream cluster up` as --master cluster or "
            "by its folder, or give the properties of another one, spark.authenticate.secret among them, as "
            "--properties-file FILE",
            is_final=True,
        )
    return None


def _refusal(jvm: Jvm, conf: JavaConf, url: str) -> Refusal | None:
    """Of several masters the one that stands by refuses, and any that answers is enough."""
    found = None
    for address in url.removeprefix("spark://").split(","):
        found = _call(jvm, conf, f"spark://{address}")
        if found is None:
            return None
    return found


def _call(jvm: Jvm, conf: JavaConf, url: str) -> Refusal | None:
    # With pyspark, and not with us.
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

    try:
        with _quiet(jvm):
            caller = _caller(jvm, conf)
            try:
                caller.setupEndpointRef(jvm.org.apache.spark.rpc.RpcAddress.fromSparkURL(url), "Master")
            finally:
                caller.shutdown()
    except Py4JJavaError as error:
        has_secret = str(conf.get("spark.authenticate", "false")).lower() == "true"
        return read_refusal(list(_chain(error.java_exception)), has_secret=has_secret)
    except (Py4JError, TypeError):
        # Another version of Spark, with other methods.
        return None
    return None


def _caller(jvm: Jvm, conf: JavaConf) -> JavaCaller:
    manager = jvm.org.apache.spark.SecurityManager
    others = (getattr(manager, f"$lessinit$greater$default${position}")() for position in (2, 3))
    rpc = jvm.org.apache.spark.rpc.RpcEnv
    caller: JavaCaller = rpc.create("elastream", "localhost", 0, conf, manager(conf, *others), True)
    return caller


def _chain(error: JavaError | None) -> Iterator[tuple[str, str]]:
    while error is not None:
        message = str(error.getMessage() or "").strip()
        yield str(error.getClass().getName()), message.split("\n", 1)[0]
        error = error.getCause()


@contextmanager
def _quiet(jvm: Jvm) -> Iterator[None]:
    log4j = jvm.org.apache.logging.log4j
    context = log4j.LogManager.getContext(False)
    named = context.getConfiguration().getLoggers()
    before = named.get(_LOUD).getLevel() if named.containsKey(_LOUD) else None
    log4j.core.config.Configurator.setLevel(_LOUD, log4j.Level.OFF)
    try:
        yield
    finally:
        if before is not None:
            log4j.core.config.Configurator.setLevel(_LOUD, before)
        else:
            # Nobody had named it: it goes with those above it again, whatever they will be set to.
            context.getConfiguration().removeLogger(_LOUD)
            context.updateLoggers()
