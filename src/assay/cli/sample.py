"""assay sample: citation edges for people to judge, and what their verdicts say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.arguments import Json, collection_of
from assay.cli.terminal import show_json, show_tables, working

if TYPE_CHECKING:
    from assay.evaluation.proportions import Proportion
    from assay.evaluation.verdicts import Both, Precision
    from assay.reports.tables import Table

app = typer.Typer(
    help="Draw citations for people to judge, and count what they say.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def commands() -> None:
    """Draw citations for people to judge, and count what they say."""


@app.command("edges")
def edges_command(
    collection: Annotated[str, typer.Argument(help="A path, or demo:questions; a table precedent_meta.")],
    out: Annotated[Path, typer.Option(help="Sheet to write, .tsv or .csv; it must not be there yet.")],
    n: Annotated[int, typer.Option("--n", min=1, help="How many citations.")] = 200,
    minimum: Annotated[int, typer.Option(min=1, help="The least from each stratum, as far as it has them.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 1,
    json: Json = False,
) -> None:
    """Draw citations as a sheet to judge. Strata are task, source, referral and split; the record lies beside it.

    Example: assay sample edges demo:questions --n 60 --out sheet.tsv
    """
    from assay.building.edge_sheet import sidecar_of, write_sample
    from assay.reports.tables import Table
    from assay.sources import folder_of

    opened = collection_of(collection)
    with working("drawing"), folder_of(opened) as folder:
        sample, found = write_sample(opened, folder, out, n=n, seed=seed, minimum=minimum)
    taken = sample.taken
    strata = [{**one._asdict(), "edges": size, "drawn": taken[one]} for one, size in sample.sizes.items()]
    if json:
        show_json(
            {
                "collection": sample.collection,
                "digest": sample.digest,
                "sheet": str(out),
                "record": str(sidecar_of(out)),
                "seed": seed,
                "minimum": minimum,
                "drawn": len(sample.rows),
                "strata": strata,
                "counts": dict(found.counts),
            }
        )
        return
    rows = tuple(tuple(str(value) for value in one.values()) for one in strata)
    notes = [
        f"{len(sample.rows)} of {found.counts['edges']} citations, seed {seed}",
        *(f"{reason}: {number}" for reason, number in found.counts.items() if number and reason != "edges"),
        f"write yes, no or unsure under verdict, and keep {sidecar_of(out)} beside the sheet",
    ]
    show_tables([Table(f"drew {out}", tuple(strata[0]), rows, tuple(notes))])


@app.command("score")
def score_command(
    sheet: Annotated[Path, typer.Argument(help="A judged sheet, with its record beside it.")],
    other: Annotated[Path | None, typer.Argument(help="The same sheet judged by another person.")] = None,
    json: Json = False,
) -> None:
    """Score a judged sheet. Precision over all citations with its interval; with two judges, Cohen's kappa.

    Example: assay sample score drawn.tsv
    """
    from assay.building.edge_sheet import read_sample, read_verdicts
    from assay.building.meta_edges import Stratum
    from assay.evaluation.verdicts import agreement_of, precision_of

    sample = read_sample(sheet)
    sheets = [sheet, *([other] if other is not None else [])]
    verdicts = [read_verdicts(path, sample) for path in sheets]
    found = [precision_of(said, sample.rows, sizes=sample.sizes, parts=Stratum._fields) for said in verdicts]
    both = agreement_of(*verdicts) if other is not None else None
    if json:
        show_json(
            {
                "collection": sample.collection,
                "digest": sample.digest,
                "seed": sample.seed,
                "edges": sum(sample.sizes.values()),
                "drawn": len(sample.rows),
                "level": 0.95,
                "judges": [_judge(str(path), one) for path, one in zip(sheets, found, strict=True)],
                "agreement": None if both is None else _agreement(both),
            }
        )
        return
    title = f"{sample.collection}: precision of {sum(sample.sizes.values())} citations"
    tables = [_table(f"{title}, {path.name}", one) for path, one in zip(sheets, found, strict=True)]
    show_tables([*tables, *([_agreement_table(both)] if both is not None else [])])


def _told(share: Proportion) -> dict[str, Any]:
    """A share as JSON: null where there is no number."""
    ends = {"precision": share.value, "low": share.low, "high": share.high}
    numbers = {name: _or_none(value) for name, value in ends.items()}
    return {
        "yes": share.yes,
        "decided": share.n,
        "edges": share.size,
        "unseen": share.unseen,
        **numbers,
        "note": share.note,
    }


def _or_none(value: float) -> float | None:
    return None if value != value else value


def _judge(path: str, found: Precision) -> dict[str, Any]:
    from assay.building.meta_edges import Stratum

    return {
        "sheet": path,
        "no": found.no,
        "unsure": found.unsure,
        "unjudged": found.unjudged,
        **_told(found.overall),
        "if_unsure_no": _or_none(found.if_unsure_no),
        "if_unsure_yes": _or_none(found.if_unsure_yes),
        "unweighted": {
            "precision": _or_none(found.drawn.value),
            "low": _or_none(found.drawn.low),
            "high": _or_none(found.drawn.high),
        },
        "groups": [{"by": by, "value": value, **_told(share)} for (by, value), share in found.groups.items()],
        "strata": [
            {**dict(zip(Stratum._fields, stratum, strict=True)), **_told(share)}
            for stratum, share in found.strata.items()
        ],
    }


def _agreement(both: Both) -> dict[str, Any]:
    found = both.agreement
    numbers = {
        name: _or_none(getattr(found, name)) for name in ("observed", "expected", "kappa", "error", "low", "high")
    }
    return {
        "n": found.n,
        "undecided": both.undecided,
        **numbers,
        "prevalence_first": _or_none(found.prevalence[0][0]),
        "prevalence_second": _or_none(found.prevalence[0][1]),
        "table": [{"first": a, "second": b, "rows": count} for (a, b), count in both.table.items()],
        "note": found.note,
    }


def _table(title: str, found: Precision) -> Table:
    from assay.reports.tables import Table, number

    def row(by: str, value: str, share: Proportion) -> tuple[str, ...]:
        shown = f"{number(share.value)} [{number(share.low)}, {number(share.high)}]" if share.n else "–"
        return by, value, str(share.size), f"{share.yes} of {share.n}", shown

    rows = [row("all", "", found.overall), *(row(by, value, share) for (by, value), share in found.groups.items())]
    notes = [f"{found.yes} yes, {found.no} no, {found.unsure} unsure, {found.unjudged} without a verdict"]
    if found.unsure:
        notes.append(f"if every unsure one were no {number(found.if_unsure_no)}, if yes {number(found.if_unsure_yes)}")
    notes.append(
        f"strata weighted by their citations; in the sample as it is {number(found.drawn.value)}"
        f" [{number(found.drawn.low)}, {number(found.drawn.high)}]; 95 % intervals after Wilson"
    )
    notes += [found.overall.note] if found.overall.note else []
    return Table(title, ("by", "value", "citations", "yes", "precision"), tuple(rows), tuple(notes))


def _agreement_table(both: Both) -> Table:
    from assay.reports.tables import Table, number

    found = both.agreement
    kappa = f"{number(found.kappa)} [{number(found.low)}, {number(found.high)}]" if found.kappa == found.kappa else "–"
    first, second = found.prevalence[0]
    row = (str(found.n), str(both.undecided), number(found.observed), number(found.expected), kappa)
    notes = [
        f"yes in {number(first)} of the first judge's verdicts, in {number(second)} of the second's",
        "; ".join(f"{a or 'no verdict'} and {b or 'no verdict'}: {count}" for (a, b), count in both.table.items()),
        *([found.note] if found.note else []),
    ]
    headings = ("decided by both", "undecided", "agree", "by chance", "Cohen's kappa")
    return Table("agreement of the two judges", headings, (row,), tuple(notes))
