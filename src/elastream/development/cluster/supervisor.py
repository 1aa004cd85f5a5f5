"""The process that keeps one cluster; see `elastream.daemons.supervisor`."""

from collections.abc import Mapping

from elastream.daemons.supervisor import Pause, main
from elastream.development.cluster.daemon_settings import daemon_environment
from elastream.development.cluster.daemons import MasterAndWorkers, Sizes
from elastream.development.cluster.folder import ClusterFolder


def describe(
    folder: ClusterFolder,
    pause: Pause,
    *,
    workers: int,
    cores: int,
    memory: str,
    daemon_memory: str,
    patience_s: float,
    spark_home: str,
    java_home: str,
    environment: Mapping[str, str],
) -> MasterAndWorkers:
    """What `cluster` wants, in the supervisor."""
    variables = daemon_environment(
        folder, environment, spark_home=spark_home, java_home=java_home, memory=daemon_memory
    )
    return MasterAndWorkers(folder, Sizes(workers=workers, cores=cores, memory=memory), variables, patience_s, pause)


if __name__ == "__main__":
    main(ClusterFolder, describe)
