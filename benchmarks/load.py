"""A made-up collection the size of a parliament's archive: words by Zipf's law, topics, dates, long queries.

A query takes some of its words from one passage, its gold, and is asked after that passage's date. The same
sizes and seed give the same texts on every machine and NumPy version (only `RandomState` is drawn from).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

VOCABULARY = 200_000
TOPICS, TOPIC_WORDS = 600, 400
_DAYS = 5600


@dataclass(frozen=True, eq=False)
class Load:
    """Texts and days (counted from any first day) of passages and queries, and each query's gold passage."""

    passages: list[str]
    queries: list[str]
    passage_day: Ints
    query_day: Ints
    gold: Ints


def made(
    documents: int = 76_536,
    queries: int = 10_962,
    *,
    words: int = 200,
    query_words: int = 130,
    shared: float = 0.12,
    seed: int = 1,
) -> Load:
    """The load of the given sizes; a query shares the share `shared` of its words with its gold."""
    random = np.random.RandomState(seed)
    topics = _drawn(random, _falling(VOCABULARY, 500.0, 0.8, first=300), (TOPICS, TOPIC_WORDS))
    lengths, own_topics = _lengths(random, documents, words), _drawn(random, _falling(TOPICS, 1.0, 0.5), (documents, 2))
    codes = _codes(random, lengths, own_topics, topics, 0.25)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    gold = random.randint(0, documents, queries)
    query_lengths = _lengths(random, queries, query_words)
    query_codes = _codes(random, query_lengths, own_topics[gold], topics, 0.20)
    of_gold = random.rand(len(query_codes)) < shared
    owner = np.repeat(gold, query_lengths)[of_gold]
    query_codes[of_gold] = codes[starts[owner] + (random.rand(len(owner)) * lengths[owner]).astype(np.int64)]
    day = random.randint(0, _DAYS, documents)
    asked = np.minimum(day[gold] + random.randint(1, 900, queries), _DAYS + 100)
    spelled = _spellings(random)
    return Load(_texts(spelled, codes, lengths), _texts(spelled, query_codes, query_lengths), day, asked, gold)


def _falling(size: int, shift: float, power: float, *, first: int = 0) -> npt.NDArray[np.float64]:
    """Cumulated probabilities that fall with the rank (Zipf-Mandelbrot), 0 before rank `first`."""
    share = 1 / (np.arange(size) + shift) ** power
    share[:first] = 0
    return np.cumsum(share / share.sum())


def _drawn(random: np.random.RandomState, cumulated: npt.NDArray[np.float64], shape: tuple[int, ...]) -> Ints:
    return np.searchsorted(cumulated, random.random_sample(shape)).clip(0, len(cumulated) - 1)


def _lengths(random: np.random.RandomState, count: int, mean: int) -> Ints:
    spread = 0.55
    drawn = np.exp(random.standard_normal(count) * spread + np.log(mean) - spread**2 / 2)
    return np.clip(drawn, max(3, mean // 8), mean * 12).astype(np.int64)


def _codes(random: np.random.RandomState, lengths: Ints, own_topics: Ints, topics: Ints, share: float) -> Ints:
    """Words in sequence: the share `share` of them from the two topics of their text."""
    codes = _drawn(random, _falling(VOCABULARY, 4.0, 1.14), (int(lengths.sum()),))
    topical = np.flatnonzero(random.random_sample(len(codes)) < share)
    owner = np.repeat(np.arange(len(lengths)), lengths)[topical]
    topic = own_topics[owner, random.randint(0, own_topics.shape[1], len(topical))]
    codes[topical] = topics[topic, _drawn(random, _falling(TOPIC_WORDS, 1.0, 0.9), (len(topical),))]
    return codes


def _spellings(random: np.random.RandomState) -> npt.NDArray[np.str_]:
    """Distinct words of two to four syllables; frequent words are short."""
    syllables = [c + v for c in "bcdfglmnprstvz" for v in "aeiou"]
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        count = 2 if len(found) < 2500 else 3 if len(found) < 60_000 else 4
        found["".join(syllables[i] for i in random.randint(0, len(syllables), count))] = None
    return np.array(list(found))


def _texts(spelled: npt.NDArray[np.str_], codes: Ints, lengths: Ints) -> list[str]:
    # With one object for a word, not for each time that it stands: at ten times the load those would take 12 GB.
    words, texts, at = spelled.tolist(), [], 0
    for length in lengths.tolist():
        texts.append(" ".join([words[code] for code in codes[at : at + length].tolist()]))
        at += length
    return texts
