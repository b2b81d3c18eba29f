"""Near-duplicate search next to datasketch: the pairs both find beside the exact ones, then the time each takes.

python benchmarks/near_duplicates.py [--texts 76536] [--words 270] [--share 0.1] [--repeat 3]

Texts are drawn from a Zipf-like vocabulary; a share of them are copies of others with some words changed, so that
similarities lie on both sides of 0.8. Exact pairs come from an inverted index of word 5-shingles, kept in dictionaries.
datasketch (an optional peer) makes MinHash signatures of `permutations` values of the same shingles, finds candidates
with MinHashLSH, and verifies them exactly on the sets; its bands and rows are set to those of Assay, so that both have
the same chance to find a pair. Time begins with the texts as strings; memory is the peak above what the process held
before. Recall is printed beside the times, for they mean nothing without it.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np

from assay.building.near import EquivalentRules, near_duplicates
from assay.texts import Texts
from timing import seconds

Pairs = set[tuple[int, int]]


def made(texts: int, words: int, share: float, seed: int = 0) -> list[str]:
    """Texts, a share of them altered copies."""
    random = np.random.default_rng(seed)
    chance = 1 / np.arange(1, 50_001)
    names = np.asarray([f"w{n}" for n in range(len(chance))])
    drawn = random.choice(len(chance), (int(texts * (1 - share)) + 1) * words, p=chance / chance.sum())
    rows: list[np.ndarray] = []
    for row in range(texts):
        if row < int(texts * (1 - share)):
            rows.append(drawn[row * words : row * words + int(random.integers(words // 3, words + 1))])
        else:
            copy = rows[int(random.integers(0, int(texts * (1 - share))))].copy()
            changes = int(len(copy) * random.choice([0.0, 0.005, 0.01, 0.02, 0.03]))
            copy[random.integers(0, len(copy), changes)] = random.integers(0, len(chance), changes)
            rows.append(copy)
    return [" ".join(names[row].tolist()) for row in rows]


def shingled(texts: list[str], size: int) -> list[set[bytes]]:
    """The set of shingles of each text, as datasketch takes them."""
    found = []
    for text in texts:
        words = text.split()
        found.append({" ".join(words[i : i + size]).encode() for i in range(max(1, len(words) - size + 1))})
    return found


def exact_pairs(sets: list[set[bytes]], similarity: float) -> Pairs:
    """All pairs with at least the similarity, by counting shingles in common."""
    rows: dict[bytes, list[int]] = {}
    for row, shingles in enumerate(sets):
        for shingle in shingles:
            rows.setdefault(shingle, []).append(row)
    common = Counter(pair for same in rows.values() if len(same) > 1 for pair in combinations(same, 2))
    return {(a, b) for (a, b), n in common.items() if n / (len(sets[a]) + len(sets[b]) - n) >= similarity - 1e-12}


def peer_pairs(texts: list[str], rules: EquivalentRules) -> Pairs:
    """What datasketch finds, verified exactly."""
    from datasketch import MinHash, MinHashLSH

    sets = shingled(texts, rules.shingle)
    n = rules.bands * rules.rows
    lsh = MinHashLSH(num_perm=n, params=(rules.bands, rules.rows))
    found: Pairs = set()
    for row, signature in enumerate(MinHash.generator(sets, num_perm=n, seed=1)):
        for other in lsh.query(signature):
            n_common = len(sets[row] & sets[other])
            if n_common / (len(sets[row]) + len(sets[other]) - n_common) >= rules.similarity - 1e-12:
                found.add((other, row))
        lsh.insert(row, signature)
    return found


def peak_of(work: Callable[[], Pairs]) -> tuple[Pairs, float, float]:
    """What a piece of work returns, its wall time, and its peak of memory in GB (nan where Linux does not tell)."""
    forget, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    before = held(status, "VmRSS")
    if before == before:
        forget.write_text("5")
    start = time.perf_counter()
    found = work()
    took = time.perf_counter() - start
    return found, took, held(status, "VmHWM") - before


def held(status: Path, name: str) -> float:
    """A line of Linux's account of this process, in GB."""
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1e6 for line in lines if line.startswith(name)), float("nan"))


def main() -> None:
    parser = argparse.ArgumentParser(description="near-duplicate search next to datasketch")
    parser.add_argument("--texts", type=int, default=76_536)
    parser.add_argument("--words", type=int, default=270)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    rules = EquivalentRules()
    texts = made(given.texts, given.words, given.share)
    size = sum(map(len, texts)) / 1e6
    near_duplicates(Texts.of(texts[:2_000]), rules)
    ours, first, memory = peak_of(lambda: set(near_duplicates(Texts.of(texts), rules).all_pairs()))
    mine = min(first, seconds(lambda: near_duplicates(Texts.of(texts), rules), given.repeat))
    try:
        theirs, peer, more = peak_of(lambda: peer_pairs(texts, rules))
    except ImportError:
        theirs = None
    exact = exact_pairs(shingled(texts, rules.shingle), rules.similarity)
    print(f"{len(texts):,} texts, {size:.0f} MB, {len(exact):,} pairs of similarity {rules.similarity} up")
    if ours - exact:
        raise SystemExit(f"assay found {len(ours - exact)} pairs that are not near")
    print(f"assay       {mine:8.2f} s   recall {len(ours & exact) / len(exact):.4f}   peak {memory:.2f} GB")
    if theirs is None:
        print("datasketch is not installed")
    else:
        print(
            f"datasketch  {peer:8.2f} s   recall {len(theirs & exact) / len(exact):.4f}   peak {more:.2f} GB"
            f"   {peer / mine:.1f} times"
        )
    for part in (16, 4, 1):
        some = Texts.of(made(given.texts // part, given.words, given.share))
        took = seconds(lambda some=some: near_duplicates(some, rules), given.repeat)
        print(f"assay, {len(some):>7,} texts: {took:.2f} s, {1e6 * took / len(some):.0f} µs a text")


if __name__ == "__main__":
    main()
