"""After removals: a collection without removed records, and what becomes of the questions that they answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.building.built import EQUIVALENTS
from assay.building.edges import CITE, NOT_BEFORE_OWN
from assay.building.equivalents import Equivalents
from assay.building.funnel import Funnel
from assay.building.links import Links
from assay.building.question_rows import equivalent_row, lenient
from assay.building.removals import STEP, BuildTables, Judgement, Row, without_removed

ANSWER, LENIENT = "answer", "answerlenient"
CITING, NO_LONGER = "the reply that cites is removed", "equal to a removed reply alone"


@dataclass(frozen=True, eq=False)
class Linked:
    """What answers what and what is equal to what, as it was before removals."""

    links: Links
    found: Equivalents


def after_removals(
    tables: BuildTables, unresolved: Sequence[Row], removals: Mapping[str, str], *, linked: Linked, funnel: Funnel
) -> tuple[BuildTables, Sequence[Row]]:
    """The tables and the unresolved citations without removed records and all that came of them.

    What a removed reply had cited goes with it, and so does what was relevant only for being equal to it. A question
    whose own answer is removed takes the next of its answers, if it has one, for its own, with the judgement; what its
    replies cite and is not older than that one is no judgement of `cite` any more.

    Args:
        tables: All tables.
        unresolved: Citations that name no record.
        removals: Id to reason.
        linked: Which answers a question has, and what is equal.
        funnel: Where every drop is counted.
    """
    if not removals:
        return tables, unresolved
    left = without_removed(tables, removals, funnel)
    there = {row["_id"] for part in (left.corpus, left.queries) for row in part}
    gone = [row["citing_id"] for row in left.precedent_meta if row["citing_id"] not in there]
    funnel.drop(STEP, f"precedent_meta: {CITING}", gone)
    meta = [row for row in left.precedent_meta if row["citing_id"] in there]
    left = _judged_as_cited(replace(left, precedent_meta=meta), CITING, funnel)
    answered = _answered_anew(left, linked.links, there)
    left = _with_answers(left, linked, answered, there, funnel)
    left = _cited_before(left, linked.links, answered, funnel)
    # A question of a joint answer may be gone.
    size = {row["_id"]: len(row["answers"]) for row in left.corpus}
    queries = [{**row, "joint_size": size.get(row["answer"], row["joint_size"])} for row in left.queries]
    return replace(left, queries=queries), [row for row in unresolved if row["citing_id"] in there]


def _judged_as_cited(left: BuildTables, why: str, funnel: Funnel) -> BuildTables:
    """Without judgements of citations that `precedent_meta` has no more."""
    cited = {(task, row["query_id"], row["doc_id"]) for row in left.precedent_meta for task in row["tasks"]}
    qrels: dict[str, list[Judgement]] = {}
    for name, judgements in (left.qrels or {}).items():
        task = name.rpartition("_")[0]
        own = task in (ANSWER, LENIENT)
        qrels[name] = [one for one in judgements if own or (task, one[0], one[1]) in cited]
        gone = [f"{one[0]} {one[1]}" for one in judgements if not own and (task, one[0], one[1]) not in cited]
        funnel.drop(STEP, f"qrels {name}: {why}", gone)
    return replace(left, qrels=qrels)


def _answered_anew(left: BuildTables, links: Links, there: set[str]) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Questions one of whose answers is gone: their row, and the answers that are left, the own one first."""
    place = {one.id: row for row, one in enumerate(links.questions)}
    found = {}
    for query in left.queries:
        row = place[query["_id"]]
        kept = tuple(at for at in links.answered[row] if links.answers[at].id in there)
        if len(kept) < len(links.answered[row]):
            found[links.questions[row].id] = row, kept
    return found


def _with_answers(
    left: BuildTables,
    linked: Linked,
    answered: Mapping[str, tuple[int, tuple[int, ...]]],
    there: set[str],
    funnel: Funnel,
) -> BuildTables:
    """With the answers that are left: in `queries`, among judgements and among equivalents."""
    ids, empty = [one.id for one in linked.links.answers], set(linked.found.boilerplate.tolist())
    own = {query: ids[kept[0]] if kept else None for query, (_, kept) in answered.items()}
    judged = {
        query: [ids[at] for at in lenient(kept, linked.found, empty=empty) if ids[at] in there]
        for query, (_, kept) in answered.items()
    }
    queries = [{**row, "answer": own.get(row["_id"], row["answer"])} for row in left.queries]
    qrels = dict(left.qrels or {})
    for name in qrels:
        task, _, split = name.rpartition("_")
        if task in (ANSWER, LENIENT):
            named = {row["_id"]: None for row in queries if row["split"] == split}
            docs = {one: judged[one][: 1 if task == ANSWER else None] for one in named if one in judged}
            qrels[name] = _with_docs(qrels[name], list(named), docs, funnel=funnel, name=name)
    rows = {row["_id"]: row for row in left.equivalents}
    for query, (row, kept) in answered.items():
        made = equivalent_row(linked.links, linked.found, row, own=kept[0] if kept else -1, empty=empty)
        rows[query] = {
            name: value if name == "_id" else [one for one in value if one in there] for name, value in made.items()
        }
    found = [rows[row["_id"]] for row in queries if row["_id"] in rows]
    equal = [row for row in found if any(row[name] for name in EQUIVALENTS[1:])]
    return replace(left, queries=queries, qrels=qrels, equivalents=equal)


def _with_docs(
    judgements: Sequence[Judgement],
    queries: Sequence[str],
    docs: Mapping[str, Sequence[str]],
    *,
    funnel: Funnel,
    name: str,
) -> list[Judgement]:
    """Judgements in the order of the questions, those of some replaced."""
    given: dict[str, list[Judgement]] = {}
    for one in judgements:
        given.setdefault(one[0], []).append(one)
    for query, ids in docs.items():
        gone = [f"{query} {one[1]}" for one in given.get(query, ()) if one[1] not in ids]
        funnel.drop(STEP, f"qrels {name}: {NO_LONGER}", gone)
        given[query] = [(query, id_, 1) for id_ in ids]
    return [one for query in queries for one in given.get(query, ())]


def _cited_before(
    left: BuildTables, links: Links, answered: Mapping[str, tuple[int, tuple[int, ...]]], funnel: Funnel
) -> BuildTables:
    """Without citations in `cite` that are not older than the own answer that a question has now."""
    days = {query: str(links.answers[kept[0]].date) for query, (_, kept) in answered.items() if kept}
    meta: list[Row] = []
    for row in left.precedent_meta:
        late = row["query_id"] in days and row["cited_date"] >= days[row["query_id"]]
        tasks = [task for task in row["tasks"] if not (late and task in CITE)]
        meta += [{**row, "tasks": tasks}] if tasks else []
    return _judged_as_cited(replace(left, precedent_meta=meta), NOT_BEFORE_OWN, funnel)
