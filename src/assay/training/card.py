"""Cards of fitted models: README.md, made from the record that lies beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.formats import front_matter

_TAGS = {"biencoder": "sentence-similarity", "reranker": "text-ranking"}
_WHAT = {
    "biencoder": "A bi-encoder: texts become vectors, and a query's vector lies near those of passages that answer it.",
    "reranker": "A cross-encoder: a query and a passage are read together and get one score.",
}
_CALLS = {"biencoder": "dense('FOLDER')", "reranker": "rerank({first}, model='FOLDER', depth={rerank})"}


def card(record: Mapping[str, Any]) -> str:
    """The card of a model, Markdown with front matter.

    Args:
        record: What `training.json` holds.
    """
    front: dict[str, Any] = {"library_name": "sentence-transformers", "pipeline_tag": _TAGS[record["kind"]]}
    if record["licence"]:
        front["license"] = record["licence"].lower()
    if _on_the_hub(record["base"]):
        front["base_model"] = record["base"]
    recipe = record["spec"]["recipe"]
    call = _CALLS[record["kind"]].format(first=recipe.get("first"), rerank=recipe.get("depth"))
    kept = record["kept"]
    lines = [
        f"# {record['base']}, fitted on {record['collection']}",
        "",
        f"{_WHAT[record['kind']]} Fitted on the train split of the task `{record['task']}`, the epoch chosen on dev; no"
        " query of test was seen.",
        "",
        f'    assay run COLLECTION/TASK -s "{call}"',
        "",
        "## Licence",
        "",
        f"The base is under {record['licence'] or 'a licence that is not known here: see its own card'}. Texts of the"
        " collection have their own licence, which its card tells.",
        "",
        "## On dev",
        "",
        f"{record['measure']} over {record['dev_queries']} queries, lists of {record['depth']} passages. The epoch was"
        " chosen on these queries, so that its value is too high: report the mean on test.",
        "",
        "| epoch | loss | " + record["measure"] + " | |",
        "|---|---|---|---|",
        f"| before | | {record['before']:.4f} | {'kept' if kept == 0 else ''} |",
        *(
            f"| {one['epoch']} | {one['loss']:.4f} | {one['value']:.4f} | {'kept' if one['epoch'] == kept else ''} |"
            for one in record["curve"]
        ),
        "",
        f"The fit ended: {record['stopped']}.{_no_gain(record)}",
        "",
        "## Data",
        "",
        *_rows(_data(record)),
        "",
        *_left_out(record),
        "## Recipe",
        "",
        *_rows(_flat(record["spec"])),
        "",
        "The same call on the same machine gives the same weights. `training.json` holds all of this for programs.",
    ]
    return front_matter.written(front) + "\n" + "\n".join(lines) + "\n"


def _no_gain(record: Mapping[str, Any]) -> str:
    if not record["kept"]:
        return " No epoch did better than the base, which was kept."
    return " No epoch did better than the first stage alone." if record["value"] <= record["before"] else ""


def _on_the_hub(base: str) -> bool:
    return base.count("/") == 1 and not base.startswith((".", "/", "~", "package:"))


def _data(record: Mapping[str, Any]) -> dict[str, Any]:
    drawn = record["drawn_from"]
    found = {
        "collection": f"{record['collection']}, SHA-256 `{record['digest']}`",
        "train": f"{record['queries']} queries, {record['pairs']} pairs, SHA-256 `{record['train']}`",
        "dev": f"{record['dev_queries']} queries, SHA-256 `{record['dev']}`",
        "negatives": f"{record['mined']}, SHA-256 with their pairs `{record['negatives']}`",
        "base": f"{record['base']}, `{record['base_identity']}`",
    }
    if drawn is not None:
        found["train"] += f"; a sample of {drawn} train queries"
    if record["until"]:
        told = f"{record['until']} ({record['until_from']}); later passages are no negatives"
        found["end of the train period"] = told
    return found


def _left_out(record: Mapping[str, Any]) -> list[str]:
    if not record["left_out"]:
        return []
    return ["| left out | times |", "|---|---|", *(f"| {o['reason']} | {o['count']} |" for o in record["left_out"]), ""]


def _flat(record: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Nested values under dotted names, without what is empty."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{path}{name}.")
        elif value not in ("", None):
            found[f"{path}{name}"] = f"`{value}`"
    return found


def _rows(values: Mapping[str, Any]) -> list[str]:
    shown = (f"| {name} | {value} |".replace("\n", " ") for name, value in values.items())
    return ["| what | |", "|---|---|", *shown]
