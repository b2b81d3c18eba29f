"""Equivalents: replies that say the same, questions that ask the same, and replies that say nothing.

Equality is that of unmasked texts with blanks folded; near-duplicates are those of `assay.building.near`. Boilerplate
(holding replies, pure referrals) is never an equivalent: with ids masked, referrals to different answers look alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from assay.building.citations import decided
from assay.building.house import House
from assay.building.identifiers import identifiers_in
from assay.building.near import EquivalentRules, Marks, Near, Rows, in_blocks, near_duplicates
from assay.building.ties import Pairs, chains
from assay.kernels.components import component_labels
from assay.texts import Texts


def duplicate_answer(texts: Texts, rules: EquivalentRules | None = None, *, boilerplate: Marks | None = None) -> Rows:
    """For each row the first row with an equal text, blanks folded, int64; itself where it is short or boilerplate.

    Texts must be unmasked and uncut.

    Example:
        >>> rules = EquivalentRules(min_characters=5)
        >>> duplicate_answer(Texts.of(["Fees are set.", "Fees are  set.", "No.", "No."]), rules).tolist()
        [0, 0, 2, 3]
    """
    rules = rules or EquivalentRules()
    labels = np.arange(len(texts), dtype=np.int64)
    seen: dict[bytes, int] = {}
    for first, block in in_blocks(texts):
        folded = block.with_folded_blanks()
        long = folded.lengths >= rules.min_characters
        if boilerplate is not None:
            long &= ~boilerplate[first : first + len(block)]
        data, cut = folded.buffer.tobytes(), folded.offsets.tolist()
        for row in np.flatnonzero(long).tolist():
            # A digest stands for the text: whole texts would be kept a second time.
            key = blake2b(data[cut[row] : cut[row + 1]], digest_size=20).digest()
            labels[first + row] = seen.setdefault(key, first + row)
    return labels


def near_duplicate_answer(
    texts: Texts, rules: EquivalentRules | None = None, *, boilerplate: Marks | None = None
) -> Near:
    """Near-duplicate replies among those that are long enough and no boilerplate: see `near_duplicates`."""
    rules = rules or EquivalentRules()
    lengths = [block.with_folded_blanks().lengths for _, block in in_blocks(texts)]
    long = np.concatenate([np.zeros(0, np.int64), *lengths]) >= rules.min_characters
    return near_duplicates(texts, rules, keep=long if boilerplate is None else long & ~boilerplate)


def twin_question(
    texts: Texts, rules: EquivalentRules | None = None, *, near: bool = True, answered_together: Rows | None = None
) -> Pairs:
    """Pairs that chain twin questions together: equal texts, near ones, and questions answered jointly.

    Twins may have different answers (one text sent to several institutions), so they tie queries; they make no answer
    relevant.

    Args:
        texts: Questions without headers; masked ones, since ids differ where twins cite themselves.
        rules: Thresholds.
        near: Whether near-duplicates are twins too: questions are often translated, and differ by a word.
        answered_together: Per row the joint answer, -1 for none.

    Example:
        >>> rules = EquivalentRules(min_characters=5)
        >>> twin_question(Texts.of(["Who pays fees?", "Why?", "Who pays  fees?"]), rules).tolist()
        [[0, 2]]
    """
    rules = rules or EquivalentRules()
    same = duplicate_answer(texts, rules)
    pairs = [chains(same, np.arange(len(texts)))]
    if near:
        found = near_duplicate_answer(texts, rules)
        kept = np.flatnonzero(found.first >= 0)
        pairs += [found.pairs, np.stack([found.first[kept], kept], axis=1)]
    if answered_together is not None:
        rows = np.flatnonzero(answered_together >= 0)
        pairs.append(chains(answered_together[rows], rows))
    joined = np.sort(np.concatenate(pairs), axis=1)
    return np.unique(joined[joined[:, 0] != joined[:, 1]], axis=0).astype(np.int64)


def boilerplate(texts: Texts, house: House, rules: EquivalentRules | None = None) -> Marks:
    """Which replies say nothing of their own: holding replies, and referrals with little text besides.

    Args:
        texts: Bodies of replies, unmasked.
        house: Whose ids and holding replies are known.
        rules: How much text a pure referral may have.

    Example:
        >>> from assay.building.houses import UK_PARLIAMENT
        >>> replies = ["I refer back to my previous answer to UIN 5635.", "We will write to the Member.", "It is."]
        >>> boilerplate(Texts.of(replies), UK_PARLIAMENT).tolist()
        [True, True, False]
    """
    rules = rules or EquivalentRules()
    found = np.zeros(len(texts), np.bool_)
    short = texts.lengths <= 3 * rules.boilerplate_characters
    if house.holding:
        holds = house.holding
        for row in np.flatnonzero(short).tolist():
            found[row] = holds.search(texts[row]) is not None
    rows = np.flatnonzero(short)
    for at, text, ids in identifiers_in(texts.take(rows), house):
        row = rows[at]
        left = len(text) - sum(one.end - one.start for one in ids)
        if left <= rules.boilerplate_characters and text.strip().count("\n\n") < 2:
            found[row] |= decided(text[: ids[0].start], text[ids[-1].end :])[0]
    return found


@dataclass(frozen=True, eq=False)
class Equivalents:
    """What is equivalent to what, by type, with the thresholds and counts for a manifest."""

    twin_question: Mapping[int, Sequence[int]]
    duplicate_answer: Mapping[int, Sequence[int]]
    near_duplicate_answer: Mapping[int, Sequence[int]]
    boilerplate: Rows
    record: Mapping[str, Any] = field(default_factory=dict)


def members_of(labels: Rows) -> dict[int, list[int]]:
    """For every row that shares its label, the other rows with that label.

    Example:
        >>> members_of(np.array([0, 1, 0]))
        {0: [2], 2: [0]}
    """
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    groups: dict[int, list[int]] = {}
    for row in np.flatnonzero(counts[inverse] > 1).tolist():
        groups.setdefault(int(inverse[row]), []).append(row)
    return {row: [other for other in rows if other != row] for rows in groups.values() for row in rows}


def equivalents(
    questions: Texts,
    answers: Texts,
    house: House,
    *,
    rules: EquivalentRules | None = None,
    cut: Marks | None = None,
    holding: Marks | None = None,
    answered_together: Rows | None = None,
) -> Equivalents:
    """All types of equivalents of a collection's questions and answers, by row.

    Args:
        questions: Questions without headers, masked.
        answers: Replies without headers, unmasked.
        house: Whose boilerplate is known.
        rules: Thresholds; they are in the record.
        answered_together: Per question its joint answer, -1 for none: joint questions are twins.
        cut: Answers that the source cuts short: nobody's equivalents, and counted.
        holding: Answers that the source itself calls holding replies: boilerplate whatever they say.
    """
    rules = rules or EquivalentRules()
    empty = boilerplate(answers, house, rules)
    if holding is not None:
        empty |= holding
    left_out = empty if cut is None else empty | cut
    same = duplicate_answer(answers, rules, boilerplate=left_out)
    near = near_duplicate_answer(answers, rules, boilerplate=left_out)
    twins = twin_question(questions, rules, answered_together=answered_together)
    nearly: dict[int, list[int]] = {}
    for a, b in near.all_pairs():
        if same[a] != same[b]:
            nearly.setdefault(a, []).append(b)
            nearly.setdefault(b, []).append(a)
    nearly = {row: sorted(others) for row, others in sorted(nearly.items())}
    twin = members_of(component_labels(len(questions), twins[:, 0], twins[:, 1]))
    duplicates = members_of(same)
    record = {
        "rules": rules.record(),
        "twin questions": len(twin),
        "duplicate answers": len(duplicates),
        "near-duplicate answers": len(nearly),
        "boilerplate answers": int(empty.sum()),
        "answers cut short, nobody's equivalents": 0 if cut is None else int(cut.sum()),
    }
    return Equivalents(twin, duplicates, nearly, np.flatnonzero(empty).astype(np.int64), record)
