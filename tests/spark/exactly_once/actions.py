"""What is done to an application while its queries run. Each returns when it has had its effect."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.spark.exactly_once.application import Application
from tests.spark.exactly_once.workers import SpareWorker, executors_under, kill


@dataclass(kw_only=True)
class Scene:
    """An application, and a worker that may be killed."""

    application: Application
    spare: SpareWorker

    @property
    def most(self) -> int:
        return self.application.executors

    def has(self, ready: int) -> None:
        """Wait until so many executors take tasks and nobody is on the way out."""
        self.application.until(
            lambda seen: len(seen["ready"]) == ready and not seen["leaving"], f"{ready} executors ready, none leaving"
        )


def grow(scene: Scene) -> None:
    scene.application.ask("want", size=scene.most)
    scene.has(scene.most)


def decommission(scene: Scene) -> None:
    scene.application.ask("want", size=scene.most - 1)
    scene.has(scene.most - 1)


def kill_executor(scene: Scene) -> None:
    """Spark has the master replace it."""
    ready = scene.application.look()["ready"]
    victim = ready[0]
    supervisor = scene.application.cluster.pids["supervisor"]
    kill((scene.spare.executors() | executors_under(supervisor))[victim])
    scene.application.until(lambda seen: victim not in seen["ready"], f"executor {victim} is gone")
    scene.has(len(ready))


def kill_worker(scene: Scene) -> None:
    """The machine with the most free cores, and so with an executor; another one is there to take its place."""
    ready = scene.application.look()["ready"]
    victims = set(scene.spare.executors()) & set(ready)
    assert victims, f"none of the executors {ready} is on the spare worker"
    scene.spare.replace()
    scene.application.until(lambda seen: not victims & set(seen["ready"]), f"executors {victims} are gone")
    scene.has(len(ready))


def replace_controller(scene: Scene) -> None:
    """Dies while an executor is leaving at its word; the new one wants another size."""
    scene.application.ask("want", size=scene.most - 1)
    scene.application.ask("replace_controller")
    scene.application.ask("want", size=scene.most)
    scene.has(scene.most)


def attach_again(scene: Scene) -> None:
    """Elastream's whole loop, which ends twice while executors come or go at its word, and goes on from its journal."""
    application, size = scene.application, scene.most - 1
    journal = str(application.folder / "journal")
    for _ in range(2):
        application.ask("attach", size=size, journal=journal)
        application.until(lambda _: application.ask("status")["wanted"] == size, f"the loop wants {size} executors")
        application.ask("detach")
    application.ask("attach", size=size, journal=journal)
    scene.has(size)
    application.ask("detach")


def kill_driver(scene: Scene) -> None:
    """The next one goes on from the checkpoints, with all the executors there may be."""
    scene.application.kill()
    scene.application.start()
    scene.has(scene.most)


ACTIONS: dict[str, Callable[[Scene], None]] = {
    action.__name__: action
    for action in (grow, decommission, kill_executor, kill_worker, replace_controller, attach_again, kill_driver)
}


def act(scene: Scene, name: str) -> None:
    """Do it, and wait until every query has finished the batch that it was in, and the one after."""
    before = scene.application.committed()
    ACTIONS[name](scene)
    scene.application.until_batches(2, before)
