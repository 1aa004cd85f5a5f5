"""Cluster managers: what is true of one and not of another, a file for each."""

from elastream.spark.scale.managers.kubernetes import Kubernetes
from elastream.spark.scale.managers.manager import Manager
from elastream.spark.scale.managers.standalone import Standalone, StandaloneInDriver
from elastream.spark.scale.managers.yarn import Yarn

__all__ = ["Kubernetes", "Manager", "Standalone", "StandaloneInDriver", "Yarn", "find_manager"]


def find_manager(master: str) -> Manager:
    """Whose a master URL is. One that nobody knows is taken for YARN: it promises least."""
    by_prefix: dict[str, Manager] = {
        "spark://": Standalone(),
        "local-cluster": StandaloneInDriver(),
        "k8s://": Kubernetes(),
    }
    return next((manager for prefix, manager in by_prefix.items() if master.startswith(prefix)), Yarn())
