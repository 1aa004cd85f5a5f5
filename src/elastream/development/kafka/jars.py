"""The jars of a broker, and those that Spark needs to read Kafka: fetched once by Maven, or put there by hand.

`pom.xml` says which. They lie in the user's cache, in a folder named after that file's content: another version of it
fetches anew. `ELASTREAM_KAFKA_JARS` names a folder to be used instead, with one called `broker` and one called
`connector` in it.

`jars.sha256` says what has to be in each that was fetched, and is looked at before every use. After a change of
`pom.xml` a fetch fails and leaves what came in `NAME.part`; from there the list is written anew, in the form of
`sha256sum broker/*.jar connector/*.jar`. What somebody puts into a folder of their own is used as it is.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import xml.etree.ElementTree as Xml
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from elastream.core.errors import ElastreamError
from elastream.daemons.java import java_home

POM = Path(__file__).with_name("pom.xml")
HASHES = Path(__file__).with_name("jars.sha256")
BY_HAND = "ELASTREAM_KAFKA_JARS"
BROKER = "broker"
CONNECTOR = "connector"
TELL_EVERY_S = 5.0

Tell = Callable[[str], None]


class JarsNotFound(ElastreamError):
    """Jars that are neither here nor can be fetched, or are not those that they should be."""


def silently(line: str) -> None:
    """Tell nobody."""


def broker_jars(tell: Tell = silently) -> list[Path]:
    """All that a broker needs to run."""
    return _jars(BROKER, tell)


def connector_jars(tell: Tell = silently) -> list[Path]:
    """What Spark's driver and executors need to read and write Kafka, for `spark.jars`."""
    return _jars(CONNECTOR, tell)


def lacking(name: str) -> str | None:
    """Why the jars of this name cannot be had; None if they are here or Maven is."""
    by_hand = bool(os.environ.get(BY_HAND))
    if _in(folder_of(name)) or (shutil.which("mvn") and not by_hand):
        return None
    remedy = "put" if by_hand else "install Maven, or put"
    return (
        f"Kafka: the jars of the {name} are missing: {remedy} {', '.join(coordinates(name))}"
        f"{' and all they need at run time' if name == BROKER else ''} into {folder_of(name)}"
    )


def folder_of(name: str) -> Path:
    """Where the jars of this name are, or will be."""
    if os.environ.get(BY_HAND):
        return Path(os.environ[BY_HAND]).absolute() / name
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "elastream" / "kafka" / hashlib.sha256(POM.read_bytes()).hexdigest()[:12] / name


def coordinates(name: str) -> list[str]:
    """The artefacts that `pom.xml` names for it, as group:artefact:version."""
    pom = Xml.parse(POM).getroot()
    versions = {entry.tag: entry.text or "" for entry in pom.findall("properties/*")}
    found = []
    for artefact in pom.findall(f"profiles/profile[id='{name}']/dependencies/dependency"):
        text = ":".join(artefact.findtext(part, "") for part in ("groupId", "artifactId", "version"))
        for key, value in versions.items():
            text = text.replace(f"${{{key}}}", value)
        found.append(text)
    return found


def _jars(name: str, tell: Tell) -> list[Path]:
    folder = folder_of(name)
    if found := _in(folder):
        return found if os.environ.get(BY_HAND) else _checked(name, found, f"remove {folder} to fetch it anew")
    if missing := lacking(name):
        raise JarsNotFound(missing)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(folder.parent / f"{name}.lock", tell):
            # Another process may have fetched them while we waited.
            if not _in(folder):
                _fetch(name, folder, tell)
    except OSError as wrong:
        raise JarsNotFound(
            f"{folder.parent}: cannot keep jars there ({wrong.strerror}); set XDG_CACHE_HOME or {BY_HAND}"
        ) from wrong
    return _checked(name, _in(folder), f"remove {folder} to fetch it anew")


def hashes(name: str) -> dict[str, str]:
    """SHA-256 by file name of all that belongs to it, in the form of `sha256sum`."""
    lines = (line.split() for line in HASHES.read_text().splitlines())
    return {path.partition("/")[2]: digest for digest, path in lines if path.startswith(f"{name}/")}


def _checked(name: str, jars: list[Path], remedy: str) -> list[Path]:
    """The same, if they are those of the list, byte by byte."""
    known = hashes(name)
    for jar in jars:
        if jar.name not in known:
            raise JarsNotFound(f"{jar}: is none of the jars of the {name}; {remedy}")
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if found != known[jar.name]:
            raise JarsNotFound(
                f"{jar}: has SHA-256 {found[:12]}... and should have {known[jar.name][:12]}...; {remedy}"
            )
    if missing := sorted(known.keys() - {jar.name for jar in jars}):
        raise JarsNotFound(f"{jars[0].parent}: {missing[0]} is missing; {remedy}")
    return jars


def _in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jar"))


def _fetch(name: str, folder: Path, tell: Tell) -> None:
    """Into a folder of another name, which gets its own when all are there: nobody ever sees half of them."""
    unfinished, log = folder.with_suffix(".part"), folder.with_suffix(".log")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    # Maven wants to own the folder of its pom, and ours may be read-only.
    shutil.copy(POM, unfinished / "pom.xml")
    jars = unfinished / name
    tell(f"fetching the jars of the {name} with Maven, once ...")
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    _maven(["--batch-mode", f"--activate-profiles={name}", *goal], folder=unfinished, log=log, tell=tell)
    if not _in(jars):
        raise JarsNotFound(f"Kafka: Maven brought no jars for the {name}; see {log}")
    _checked(name, _in(jars), f"Maven's repository, or what stands in for it, has another one; see {log}")
    jars.replace(folder)
    shutil.rmtree(unfinished)


def _maven(arguments: list[str], *, folder: Path, log: Path, tell: Tell) -> None:
    with log.open("wb") as printed:
        maven = subprocess.Popen(
            ["mvn", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            cwd=folder,
            env={**os.environ, "JAVA_HOME": str(java_home().path)},
            close_fds=False,
        )
        waited_s = 0.0
        try:
            while True:
                try:
                    maven.wait(TELL_EVERY_S)
                    break
                except subprocess.TimeoutExpired:
                    waited_s += TELL_EVERY_S
                    tell(f"still fetching after {waited_s:.0f} s ...")
        finally:
            maven.kill()
            maven.wait()
    if maven.returncode != 0:
        errors = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("[ERROR]")]
        why = errors[0].removeprefix("[ERROR]").strip() if errors else f"exit code {maven.returncode}"
        raise JarsNotFound(f"Kafka: Maven failed: {why}; the whole log is in {log}")


@contextmanager
def _one_at_a_time(lock: Path, tell: Tell) -> Iterator[None]:
    with lock.open("w") as handle:
        # Maven inherits it: one that outlives a killed process still keeps the next one out.
        os.set_inheritable(handle.fileno(), True)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another process that fetches the same jars ...")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
