"""Cluster managers: what is true of one and not of another, a class for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, overload


class Conf(Protocol):
    """Settings of an application, as Spark's `SparkConf` gives them."""

    @overload
    def get(self, key: str, default: None, /) -> str | None: ...

    @overload
    def get(self, key: str, default: str, /) -> str: ...


class Manager(Protocol):
    """What has to be known of one to change executors: values that promise nothing that Spark's own API does."""

    @property
    def starts_at_once(self) -> bool:
        """Whether executors are being started when a request returns: a lower total does not take them back."""

    @property
    def counts_leaving(self) -> bool:
        """Whether executors that were told to go count in the total that is asked for, until they are gone."""

    @property
    def remedy(self) -> str:
        """What to do where it has no room for an executor, in words: room means something else to each."""

    @property
    def sees_processes(self) -> bool:
        """Whether executors may run where the driver can see their processes, and so read what they use."""

    @property
    def takes_places(self) -> bool:
        """Whether we can say where an executor is added."""

    def expect_executors(self, conf: Conf) -> int | None:
        """How many an application that has just begun will have, or None if its settings do not say."""


@dataclass(frozen=True, slots=True)
class Standalone:
    """Spark's own: a master counts an executor from its launch, before it answers, until its process has ended.

    Room is free cores and memory of its workers, within `spark.cores.max`. It places executors by itself.
    """

    starts_at_once: ClassVar[bool] = True
    counts_leaving: ClassVar[bool] = True
    remedy: ClassVar[str] = "add workers to it"
    sees_processes: ClassVar[bool] = True
    takes_places: ClassVar[bool] = False

    def expect_executors(self, conf: Conf) -> int | None:
        """It gives all it may, and does not look at spark.executor.instances."""
        most = conf.get("spark.cores.max", None)
        return int(most) // int(conf.get("spark.executor.cores", "1")) if most else None


@dataclass(frozen=True, slots=True)
class StandaloneInDriver(Standalone):
    """A master and workers inside the driver, for tests: it has the workers of its URL, whatever it may give."""

    def expect_executors(self, conf: Conf) -> int | None:
        """What was asked for."""
        return _configured_instances(conf)


@dataclass(frozen=True, slots=True)
class Yarn:
    """Hadoop's: it notes the total, starts containers when it gets to it, and takes back those beyond a lower total.

    By its source, not tried. Room is what the application's queue is allowed. A request may name hosts, which we do not
    do. The driver may share a node with executors.
    """

    starts_at_once: ClassVar[bool] = False
    counts_leaving: ClassVar[bool] = True
    remedy: ClassVar[str] = "add nodes to it, or raise the limit of the application's queue"
    sees_processes: ClassVar[bool] = True
    takes_places: ClassVar[bool] = False

    def expect_executors(self, conf: Conf) -> int | None:
        """What was asked for."""
        return _configured_instances(conf)


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """Pods: it notes the total, makes pods by and by, and deletes pending ones that a lower total does not ask for.

    By Spark's source, not tried. Room is what nodes have free and the namespace's quota allows. Where a pod goes is
    said in its template. A pod has processes of its own, which the driver does not see.
    """

    starts_at_once: ClassVar[bool] = False
    counts_leaving: ClassVar[bool] = True
    remedy: ClassVar[str] = "add nodes to it, or raise the namespace's quota"
    sees_processes: ClassVar[bool] = False
    takes_places: ClassVar[bool] = False

    def expect_executors(self, conf: Conf) -> int | None:
        """What was asked for."""
        return _configured_instances(conf)


def find_manager(master: str) -> Manager:
    """Whose a master URL is. One that nobody knows is taken for YARN: it promises least."""
    by_prefix: dict[str, Manager] = {
        "spark://": Standalone(),
        "local-cluster": StandaloneInDriver(),
        "k8s://": Kubernetes(),
    }
    return next((manager for prefix, manager in by_prefix.items() if master.startswith(prefix)), Yarn())


def _configured_instances(conf: Conf) -> int | None:
    """What was asked for when the application was started."""
    instances = conf.get("spark.executor.instances", None)
    return int(instances) if instances else None
