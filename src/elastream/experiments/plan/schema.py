"""The JSON schema of plans, for editors; the file beside this module is what the package ships."""

from __future__ import annotations

import json
from pathlib import Path

from elastream.experiments.plan.document import PlanDocument

FILE = Path(__file__).with_name("plan.schema.json")


def make_schema() -> str:
    """From the document's own fields."""
    schema = PlanDocument.model_json_schema(by_alias=True)
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A plan of Elastream"}
    return json.dumps(document, indent=2, sort_keys=True)


def read_schema() -> str:
    """As it is shipped."""
    return FILE.read_text(encoding="utf-8").rstrip("\n")


if __name__ == "__main__":
    FILE.write_text(f"{make_schema()}\n", encoding="utf-8")
