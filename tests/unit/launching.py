"""A pyspark of a few lines, so that scripts can be launched without Spark, in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

from elastream.launch import LAUNCHER

ROOT = Path(__file__).parents[2]

CONF = """
class SparkConf:
    def __init__(self, loadDefaults=True, _jvm=None, _jconf=None):
        self._jconf = {} if _jconf is None else _jconf
    def set(self, key, value):
        self._jconf[key] = str(value)
        return self
    def setMaster(self, value):
        return self.set("spark.master", value)
    def get(self, key, default=None):
        return self._jconf.get(key, default)
    def getAll(self):
        return list(self._jconf.items())
"""
CONTEXT = """
from pyspark.conf import SparkConf

class Properties(dict):
    def set(self, key, value):
        self[key] = value

class SparkContext:
    _active, _gateway, _jvm, made = None, None, None, 0
    def __init__(self, master=None, appName=None, conf=None, gateway=None, jsc=None):
        self._conf = SparkConf(_jconf=Properties(conf.getAll() if conf else ()))
        if master:
            self._conf.setMaster(master)
        self.appName = appName or "pyspark-shell"
        self._jsc = jsc or self._initialize_context(self._conf._jconf)
        SparkContext.made += 1
        SparkContext._active = self
        self.applicationId = f"app-{SparkContext.made}"
    def _initialize_context(self, jconf):
        return "a context in a JVM"
    @property
    def master(self):
        return self._conf.get("spark.master")
    def getConf(self):
        return self._conf
    def stop(self):
        self._jsc = SparkContext._active = None
"""
SESSION = """
from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext

class SparkSession:
    class Builder:
        def __init__(self):
            self._options = {}
        def config(self, key, value):
            self._options[key] = value
            return self
        def master(self, value):
            return self.config("spark.master", value)
        def remote(self, value):
            return self.config("spark.remote", value)
        def getOrCreate(self):
            conf = SparkConf()
            for key, value in self._options.items():
                conf.set(key, value)
            return SparkSession(SparkContext._active or SparkContext(conf=conf))

    def __init__(self, sparkContext):
        self._sc = self.sparkContext = sparkContext
        self._jsparkSession = None
        self.version = "fake"
    def stop(self):
        self._sc.stop()
"""


def make_pyspark(folder: Path) -> None:
    """Write the package."""
    files = {
        "__init__.py": "from pyspark.conf import SparkConf\nfrom pyspark.core.context import SparkContext\n",
        "conf.py": CONF,
        "core/__init__.py": "",
        "core/context.py": CONTEXT,
        "sql/streaming/__init__.py": "",
        "sql/streaming/readwriter.py": "class DataStreamWriter:\n    pass\n",
        "sql/__init__.py": f"{SESSION}\nSparkSession.builder = SparkSession.Builder()\n",
    }
    for name, text in files.items():
        file = folder / "pyspark" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def environment(folder: Path) -> dict[str, str]:
    """In which that pyspark is found before any other, and nothing is set from outside."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ELASTREAM_", "SPARK", "PYSPARK"))}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "src")])}


def launched(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What became of a script that was started by the launcher."""
    return subprocess.run(
        [sys.executable, str(LAUNCHER), *arguments],
        cwd=folder,
        env={**environment(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def plain(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same by Python alone."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
    )
