"""Executors without Elastream, on a machine that has it."""

from pathlib import Path

# Every Python that Spark starts reads this before anything else; those beside the driver keep the package.
SITECUSTOMIZE = """
import os, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("elastream", "pydantic"):
            raise ModuleNotFoundError(f"{name} is hidden from executors")

with open(f"/proc/{os.getppid()}/cmdline", "rb") as parent:
    if b"--executor-id" in parent.read():
        sys.meta_path.insert(0, Hidden())
"""


def hiding(folder: Path) -> dict[str, str]:
    """Settings of a session whose executors have neither Elastream nor pydantic."""
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    return {"spark.executorEnv.PYTHONPATH": str(folder)}
