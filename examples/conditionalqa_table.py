"""Two tables on ConditionalQA: BM25 with more and more of the document in view, and one BM25 on many chunkings.

    python examples/conditionalqa_table.py FOLDER

FOLDER holds `documents.json`, `train.json` and `dev.json` as ConditionalQA publishes them, or the partial corpus
(docs/sources.md). What is reported on is the split test, the original dev.json. Weights are chosen on the split dev,
a sample of train, by nDCG@10; nothing is fitted on test. The second table needs the extra `chunkers`: a chunker whose
package is missing is named and left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import assay
from assay import catalog, experiment
from assay.building.gold import project
from assay.building.rechunk import documents_of, rechunked
from assay.cli.terminal import show_line, show_tables
from assay.collection import Collection
from assay.errors import UnavailableError
from assay.experiment import Judging, Result
from assay.reports.tables import Table, comparisons_table, results_table
from assay.sources import conditionalqa
from assay.span import Spans
from assay.task import Task
from assay.training import fitted

SYSTEMS = (
    "bm25",
    "titled(bm25)",
    "neighbours(bm25, before=1, after=1)",
    "hierarchy(documents(bm25), bm25, depth=10)",
    "document_fusion(bm25, documents(bm25))",
)
FITTED = (
    "document_fusion(bm25, documents(bm25))",
    "fusion(bm25, neighbours(bm25), documents(bm25), method='minmax')",
)
CHUNKERS = (
    "native",
    "window(words=60, overlap=10)",
    "window(characters=400)",
    "sentences(3)",
    "recursive(400)",
    "semchunk(words=60)",
    "langchain(characters=400)",
    "llama_index(words=60, overlap=10)",
    "chonkie('sentence', size=400)",
)
PASSAGE_MEASURES = ("nDCG@10", "RR@10", "R@100")
BUDGETS = (1000, 4000)
HEADLINE = "recall@4000chars"


def contextual(collection: Collection, resamples: int) -> list[Table]:
    """How much the document helps: systems in one table, each compared with BM25 alone."""
    task = collection.task()
    judging = Judging(PASSAGE_MEASURES, resamples=resamples)
    systems, notes = [catalog.system(text) for text in SYSTEMS], []
    for text in FITTED:
        system, report = fitted(catalog.system(text), collection)
        systems.append(system)
        weights = ", ".join(f"{weight:g}" for weight in report.weights)
        notes.append(
            f"{text}: weights {weights} chosen on {report.split}, {report.queries} queries"
            + (f"; not fitted: {report.refused}" if report.refused else f", {report.measure} {report.value:.4f} there")
        )
    results = [experiment.run_system(collection, task, system, judging=judging) for system in systems]
    compared = experiment.comparisons(results, judging=judging, baseline="bm25")
    table, *others = results_table(results)
    return [replace(table, notes=(*table.notes, *notes)), *others, *comparisons_table(compared)]


def chunked(collection: Collection, resamples: int) -> list[Table]:
    """Which chunking lets one BM25 find most gold at an equal reading cost, each compared with the native one."""
    ofs = ("recall", "precision(read)", "IoU")
    judging = Judging((HEADLINE, *(f"{of}@{n}chars" for n in BUDGETS for of in ofs)), resamples=resamples)
    results: list[Result] = []
    rows, missing = [], []
    for call in CHUNKERS:
        try:
            cut, report = rechunked(collection, catalog.made("chunker", call))
        except UnavailableError as err:
            missing.append(str(err))
            continue
        wrong, (none, one, several) = wrong_offsets(cut, collection), met(cut.task())
        cut = replace(cut, name=call)
        results.append(experiment.run_system(cut, cut.task(), assay.system_of("bm25"), judging=judging))
        shown = (f"{report.mean_length:.0f}", f"{report.covered:.2%}", f"{report.read_twice:.2%}")
        rows.append((call, f"{wrong} of {report.chunks}", *shown, f"{none} / {one} / {several}"))
    headings = ("chunker", "wrong offsets", "mean length", "in chunks", "read twice", "gold in no / one / several")
    about = Table(f"{collection.name} cut by {len(rows)} chunkers", headings, tuple(rows), tuple(missing))
    shown_results = experiment.across_chunkings(results)
    baseline = shown_results[0].system
    compared = experiment.comparisons(shown_results, judging=judging, baseline=baseline)
    return [about, *results_table(shown_results), *comparisons_table(compared)]


def wrong_offsets(cut: Collection, original: Collection) -> int:
    """How many chunks are not what their document holds at their offsets."""
    documents = documents_of(original.passages)[0].to_list()
    spans, texts = cut.passages.spans or Spans.of(), cut.passages.texts["plain"].to_list()
    places = zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), texts, strict=True)
    return sum(documents[document][start:end] != text for document, start, end, text in places)


def met(task: Task) -> tuple[int, int, int]:
    """How many gold fragments of a task lie in no, one or several chunks."""
    chunks = [] if task.fragments is None else project(task.fragments, task.passages).chunks.tolist()
    return sum(n == 0 for n in chunks), sum(n == 1 for n in chunks), sum(n > 1 for n in chunks)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with documents.json, train.json and dev.json")
    parser.add_argument("--resamples", type=int, default=10_000)
    options = parser.parse_args(arguments)
    collection = conditionalqa.load(options.folder)
    task = collection.task()
    none, one, several = met(task)
    show_line(
        f"split {task.split}: {len(task.qrels.queries)} queries, {none + one + several} gold fragments:"
        f" {none} in no chunk, {one} in exactly one, {several} in several\n"
    )
    show_tables(contextual(collection, options.resamples))
    show_tables(chunked(collection, options.resamples))


if __name__ == "__main__":
    main()
