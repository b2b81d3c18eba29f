"""Where a build of the UK questions differs from a reference build of the same raw files, record by record.

python benchmarks/ukparl_differences.py RAW REFERENCE [--train-until 2023-12-07] [--dev-until 2023-12-11]
                                        [--corrections original] [--shown 3] [--json]

RAW is the folder of raw files; REFERENCE the folder with `queries.jsonl`, `corpus.jsonl`, `equivalents.jsonl`,
`precedent_meta.jsonl`, `unresolved_citations.jsonl` and `qrels`. Every difference belongs to a class with one cause,
and every class has a verdict: which side is right, and why. What belongs to no class is listed whole, as `unexplained`,
and the exit status is then 1. Texts that the source cuts short are nobody's duplicates on either side; ours counts them
in its manifest. `--shown` is how many cases of a class are printed; `--json` prints all.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from assay.building.assemble import BuildRules, assemble
from assay.building.built import Built
from assay.building.equivalents import boilerplate
from assay.building.houses import UK_PARLIAMENT
from assay.building.near import EquivalentRules
from assay.sources.ukparl import records
from assay.texts import Texts

Rows = dict[str, dict[str, Any]]
UNEXPLAINED = "unexplained"
VERDICTS = {
    "raw_text: cells apart": (
        "Ours. Cells stand apart by ` | ` and a row is a line, so that a number keeps its row and its column; the "
        "reference puts every cell on a line of its own, against its own description."
    ),
    "raw_text: lines within a cell": (
        "Ours. A cell of several blocks stays one cell of one row; the reference breaks it."
    ),
    "raw_text: no-break blanks": (
        "Ours. U+202F, U+2009 and the like are blanks and are collapsed as others are; the reference keeps them."
    ),
    "subject: blanks collapsed": "Ours. The reference keeps double blanks, and line ends behind a heading.",
    "date: day of the correction": (
        "Ours. The text is the corrected one, which nobody could read on the day of the first answer; the "
        "reference dates it by that day, so that an as-of rule lets later knowledge through."
    ),
    "text: address masked": (
        "Either. Ours masks every address, since it cannot know where one leads; the reference masks those of "
        "records alone. Ours is the stricter rule, at the price of words in addresses that a system could match."
    ),
    "text: address of a record masked": "Ours. The reference leaves the address standing without its number.",
    "text: list is one token": "Ours. The number of tokens would tell how many records are meant.",
    "text: Lords number masked": "Ours. A number of the Lords (HL…) names a question as one of the Commons does.",
    "text: number masked": (
        "Ours. The number names a question in a form that the reference does not know: `WPQ …`, `(a) … and (b) "
        "…`, `answer provided to …`, lists with subjects, a list that ends with a number of the Lords."
    ),
    "text: words of a link masked": (
        "Either. The words of a link to a record are masked whole, with the `UIN` or `PQ` in them; both hide the "
        "number."
    ),
    "text: numbers within the question": (
        "Ours. `questions 1 and 2` are parts of the question itself and name no record."
    ),
    "twins: near questions": (
        "Ours. The reference lists questions answered together alone; questions that differ by a word or two are "
        "twins too, and tie intervals."
    ),
    "twins: through others": (
        "Ours. Twins are a class: what is a twin of one member is tied to all. It is meant for intervals and "
        "splits, and makes no answer relevant."
    ),
    "duplicates: answered together": (
        "Ours. Equal answers to questions answered together are equal answers, which lenient judging needs; the "
        "reference leaves them to its list of twins."
    ),
    "duplicates: differ by a sign": "Ours. The texts are not equal, and stand among the near-duplicates.",
    "duplicates: holding replies": (
        "Ours. A reply that says it cannot reply serves nobody who looks for another such reply."
    ),
    "duplicates: referrals": "Ours. A pure referral says nothing of its own; 44 of them name UIN 5635.",
    "duplicates: too short": "Ours. Under 40 characters, texts are equal by chance.",
    "near-duplicates": "Ours. The reference does not look for them.",
    "edges: not older": (
        "Either. An answer of the same or a later day can be no judgement; the reference lists the edge with its "
        "date check, ours counts it in the funnel."
    ),
    "edges: referral": "Ours. `As referred to in PQ6000` mentions an answer and sends nobody there.",
    "unresolved: in questions": (
        "Ours. What questions name and the collection has not is listed too, not only what replies name."
    ),
    "unresolved: Lords number": "Ours. The reference does not know these numbers in running text.",
    "unresolved: number": "Ours. A citation in a form that the reference does not know.",
}


class Case(NamedTuple):
    """One difference: its class, the record, and what stands on both sides."""

    kind: str
    id: str
    ours: str
    reference: str


def differences(built: Built, folder: Path) -> Iterator[Case]:
    """Every difference between a build and a reference."""
    ours_q, ours_a = by_id(built.tables.queries), by_id(built.tables.corpus)
    ref_q, ref_a = by_id(lines_of(folder / "queries.jsonl")), by_id(lines_of(folder / "corpus.jsonl"))
    for ours, ref in ((ours_q, ref_q), (ours_a, ref_a)):
        yield from (Case(UNEXPLAINED, id_, "there", "missing") for id_ in ours if id_ not in ref)
        yield from (Case(UNEXPLAINED, id_, "missing", "there") for id_ in ref if id_ not in ours)
    for id_ in sorted(ours_q.keys() & ref_q.keys()):
        yield from of_question(id_, ours_q[id_], ref_q[id_])
    for id_ in sorted(ours_a.keys() & ref_a.keys()):
        yield from of_answer(id_, ours_a[id_], ref_a[id_])
    yield from of_judgements(built, folder)
    yield from of_edges(built, folder)
    yield from of_unresolved(built, folder)
    yield from of_equivalents(built, folder)


def of_question(id_: str, ours: Mapping[str, Any], ref: Mapping[str, Any]) -> Iterator[Case]:
    for name in ("raw_text", "date", "addressee", "uin", "split", "answer"):
        if ours[name] != ref[name]:
            yield Case(UNEXPLAINED, id_, f"{name}: {ours[name]}", str(ref[name]))
    if ours["subject"] != ref["subject"]:
        same = flat(ours["subject"]) == flat(ref["subject"])
        yield Case(
            "subject: blanks collapsed" if same else UNEXPLAINED, id_, repr(ours["subject"]), repr(ref["subject"])
        )
    yield from of_masks(id_, ours, ref)


def of_answer(id_: str, ours: Mapping[str, Any], ref: Mapping[str, Any]) -> Iterator[Case]:
    for name in ("institution", "truncated", "is_correction", "source_url"):
        if ours[name] != ref[name]:
            yield Case(UNEXPLAINED, id_, f"{name}: {ours[name]}", str(ref[name]))
    if ours["answers"] != [ref["answers"]]:
        yield Case(UNEXPLAINED, id_, f"answers: {ours['answers']}", str(ref["answers"]))
    if ours["date"] != ref["date"]:
        corrected = ours["is_correction"] and ours["date"] > ref["date"]
        yield Case("date: day of the correction" if corrected else UNEXPLAINED, id_, ours["date"], ref["date"])
    mine, other = ours["raw_text"], ref["raw_text"]
    if mine != other:
        # What the texts still differ without is no cause of its own.
        causes = [kind for kind in STEPS if changed(mine, without=kind) != changed(other, without=kind)]
        causes = causes if changed(mine) == changed(other) else [UNEXPLAINED]
        yield from (Case(kind, id_, *window(mine, other)) for kind in causes)
    yield from of_masks(id_, ours, ref)


STEPS: dict[str, Callable[[str], str]] = {
    "raw_text: cells apart": lambda text: re.sub(r"\s*(?:\||\n)\s*", "\n", text).strip("\n"),
    "raw_text: lines within a cell": lambda text: text.replace("\n", " "),
    "raw_text: no-break blanks": lambda text: re.sub(r"[^\S\n]", " ", text),
}


def changed(text: str, *, without: str = "") -> str:
    """A text after what takes known causes away, but for one."""
    for kind, step in STEPS.items():
        text = text if kind == without else step(text)
    return re.sub(" +", " ", text).strip()


def agreed(one: str, two: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def window(one: str, two: str, size: int = 60) -> tuple[str, str]:
    """What stands around the first place at which two texts differ."""
    at = max(0, agreed(one, two) - size // 2)
    return one[at : at + size], two[at : at + size]


def of_masks(id_: str, ours: Mapping[str, Any], ref: Mapping[str, Any]) -> Iterator[Case]:
    """Differences of the masked texts that do not come from the raw ones, each stretch a case."""
    mine, other = words(ours["text"]), words(ref["text"])
    if mine == other:
        return
    for op, a, b, c, d in SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
        if op != "equal":
            shown = " ".join(mine[max(0, a - 5) : b + 3]), " ".join(other[max(0, c - 5) : d + 3])
            yield Case(kind_of_mask(" ".join(mine[a:b]), " ".join(other[c:d]), shown[1]), id_, *shown)


def kind_of_mask(mine: str, other: str, around: str) -> str:
    if "questions-statements.parliament.uk" in other:
        return "text: address of a record masked"
    if re.search(r"://|www\.", other):
        return "text: address masked"
    if "[MASKED]" not in mine and re.search(r"\bquestions \[MASKED\] and \[MASKED\]", around):
        return "text: numbers within the question"
    left = re.sub(r"\[MASKED\]|\(?[a-z]\)|\W|\b(?:and|PQ|UIN|on|tabled)\b", "", other)
    if re.fullmatch(r"(?:\d*H[Ll]\d+)+", left):
        return "text: Lords number masked"
    if not left and re.search(r"\[MASKED\][\s,]+(?:and )?(?:PQ )?\[MASKED\]", around):
        return "text: list is one token"
    if not left:
        return "text: words of a link masked"
    return "text: number masked" if left.isdecimal() else UNEXPLAINED


def of_judgements(built: Built, folder: Path) -> Iterator[Case]:
    for task in ("answer", "cite", "precedent", "followup"):
        for split in ("train", "dev", "test"):
            name = f"{task}_{split}"
            mine = {(query, doc) for query, doc, _ in (built.tables.qrels or {})[name]}
            rows = (line.split("\t") for line in (folder / "qrels" / f"{name}.tsv").read_text().splitlines())
            other = {(row[0], row[2]) for row in rows}
            yield from (Case(UNEXPLAINED, f"{name} {q} {d}", "relevant", "-") for q, d in sorted(mine - other))
            yield from (Case(UNEXPLAINED, f"{name} {q} {d}", "-", "relevant") for q, d in sorted(other - mine))


def of_edges(built: Built, folder: Path) -> Iterator[Case]:
    mine = {(r["query_id"], r["doc_id"], r["citing_id"] == r["query_id"]): r for r in built.tables.precedent_meta}
    other = {
        (r["query_id"], r["doc_id"], r["source"] == "question_text"): r
        for r in lines_of(folder / "precedent_meta.jsonl")
    }
    for key in sorted(mine.keys() | other.keys()):
        one, two, id_ = mine.get(key), other.get(key), f"{key[0]} > {key[1]}"
        if one is None and two is not None:
            late = two["cited_answered"] >= (two["citing_tabled"] if key[2] else two["citing_answered"])
            yield Case("edges: not older" if late else UNEXPLAINED, id_, "-", two["context"][:120])
        elif two is None and one is not None:
            yield Case(UNEXPLAINED, id_, one["sentence"][:120], "-")
        elif one is not None and two is not None:
            if not key[2] and one["referral"] != two["referral"]:
                yield Case("edges: referral", id_, f"{one['referral']}: {one['sentence'][:160]}", str(two["referral"]))
            if not key[2] and one["source"] != two["source"]:
                yield Case(UNEXPLAINED, id_, one["source"], two["source"])


def of_unresolved(built: Built, folder: Path) -> Iterator[Case]:
    mine = {
        (r["citing_id"].removesuffix("-ASW"), r["cited"].rpartition("/")[2], "-ASW" in r["citing_id"])
        for r in built.unresolved
    }
    other = {(r["query_id"], r["cited"], True) for r in lines_of(folder / "unresolved_citations.jsonl")}
    for query, number, reply in sorted(mine - other):
        kind = (
            "unresolved: in questions"
            if not reply
            else "unresolved: Lords number"
            if "HL" in number
            else "unresolved: number"
        )
        yield Case(kind, query, number, "-")
    yield from (Case(UNEXPLAINED, query, "-", number) for query, number, _ in sorted(other - mine))


def of_equivalents(built: Built, folder: Path) -> Iterator[Case]:
    answers = by_id(built.tables.corpus)
    questions = by_id(built.tables.queries)
    texts = {id_: flat(row["raw_text"]) for id_, row in answers.items()}
    empty = boilerplate(Texts.of(texts.values()), UK_PARLIAMENT)
    says_nothing = {id_ for id_, flag in zip(texts, empty.tolist(), strict=True) if flag}
    ours, ref = built.tables.equivalents, lines_of(folder / "equivalents.jsonl")
    mine, other = pairs(ours, "twin_question"), pairs(ref, "twin_question")
    for a, b in sorted(mine - other):
        one, two = questions[a]["text"], questions[b]["text"]
        kind = "twins: near questions" if alike(one, two) >= EquivalentRules().similarity else "twins: through others"
        yield Case(kind, f"{a} {b}", *window(one, two))
    yield from (Case(UNEXPLAINED, f"{a} {b}", "-", "twin_question") for a, b in sorted(other - mine))
    together = other
    mine, other = pairs(ours, "duplicate_answer"), pairs(ref, "duplicate_answer")
    for a, b in sorted(mine - other):
        joint = (a.removesuffix("-ASW"), b.removesuffix("-ASW")) in together
        yield Case("duplicates: answered together" if joint else UNEXPLAINED, f"{a} {b}", texts[a][:120], "-")
    near = pairs(ours, "near_duplicate_answer")
    for a, b in sorted(other - mine):
        if (a, b) in near:
            kind = "duplicates: differ by a sign"
        elif a in says_nothing:
            holds = UK_PARLIAMENT.holding is not None and UK_PARLIAMENT.holding.search(texts[a])
            kind = "duplicates: holding replies" if holds else "duplicates: referrals"
        else:
            kind = "duplicates: too short" if len(texts[a]) < EquivalentRules().min_characters else UNEXPLAINED
        yield Case(kind, f"{a} {b}", "-", texts[a][:120])
    for a, b in sorted(near - other):
        yield Case("near-duplicates", f"{a} {b}", texts[a][:60], texts[b][:60])


def alike(one: str, two: str) -> float:
    """The Jaccard similarity of the word 5-shingles of two texts."""
    sets = []
    for text in (one, two):
        found = re.findall(r"\w+", text.lower())
        sets.append({tuple(found[at : at + 5]) for at in range(max(1, len(found) - 4))})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def pairs(rows: Iterable[Mapping[str, Any]], name: str) -> set[tuple[str, str]]:
    """Pairs of ids, the lower first, that a list of equivalents ties; answers by their own id."""
    suffix = "" if name == "twin_question" else "-ASW"
    found: set[tuple[str, str]] = set()
    for row in rows:
        # The reference names twins by the ids of their answers.
        members = {f"{row['_id']}{suffix}", *(one.removesuffix("-ASW") + suffix for one in row[name])}
        found.update(combinations(sorted(members), 2))
    return found


def flat(text: str) -> str:
    return " ".join(text.replace("|", " ").split())


def words(text: str) -> list[str]:
    return flat(text).split()


def by_id(rows: Iterable[Mapping[str, Any]]) -> Rows:
    return {row["_id"]: dict(row) for row in rows}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def verdict_of(kind: str) -> str:
    return " ".join(VERDICTS.get(kind, "listed one by one").split())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("raw", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--train-until", type=date.fromisoformat, default=date(2023, 12, 7))
    parser.add_argument("--dev-until", type=date.fromisoformat, default=date(2023, 12, 11))
    parser.add_argument("--corrections", default="original")
    parser.add_argument("--shown", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rules = BuildRules(train_until=given.train_until, dev_until=given.dev_until)
    built = assemble(records(given.raw, corrections=given.corrections), rules=rules)
    classes: dict[str, list[Case]] = {}
    for case in differences(built, given.reference):
        classes.setdefault(case.kind, []).append(case)
    if given.json:
        record = {
            kind: {"count": len(cases), "verdict": verdict_of(kind), "cases": [case._asdict() for case in cases]}
            for kind, cases in sorted(classes.items())
        }
        print(json.dumps(record, ensure_ascii=False, indent=1))
    else:
        for kind, cases in sorted(classes.items()):
            print(f"{len(cases):6,} {kind}: {verdict_of(kind)}")
            for case in cases if kind == UNEXPLAINED else cases[: given.shown]:
                print(f"         {case.id}\n           ours {case.ours!r}\n           ref  {case.reference!r}")
    return int(UNEXPLAINED in classes)


if __name__ == "__main__":
    sys.exit(main())
