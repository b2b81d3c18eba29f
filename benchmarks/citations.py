"""Identifier and citation scan: megabytes of text a second, and whether time is linear in the text.

python benchmarks/citations.py [--megabytes 25] [--repeat 3] [--cited 0.1]

Texts are made up: answers of about 1,300 characters with directives, dates, amounts and addresses in them; a share of
them cites one to three records in printed forms of the house. The share is a tenth by default: 5.8 % of the answers of
ParlIR cite an earlier one that it holds, and some cite what it does not hold. The fast scan is compared with the plain
one on a part of the texts before any time is printed.
"""

from __future__ import annotations

import argparse
import re
from datetime import date
from random import Random

from assay.building.citations import citations_in
from assay.building.house import House, Parts, printed_forms
from assay.building.houses import EUROPEAN_PARLIAMENT, UK_PARLIAMENT
from assay.building.identifiers import identifiers, identifiers_in
from assay.building.masking import masked_texts
from assay.texts import Texts
from timing import seconds

COMMON = """
the|Commission|of|and|to|in|that|Member States|for|is|on|a|with|measures|market|which|support|by|has|Union|energy|under
rules|between|citizens|programme|funding|however|report|transport|policy|implementation|cooperation|rights|health|être
Kraków|“Horizon”|Council’s|agency (EFSA)|level – also|of the|in the|as well as|Parliament|agreement|national authorities
"""
NUMBERED = """
Directive 2014/53/EU|Regulation (EU) 2016/679|Regulation (EC) No 1049/2001|€5.4 million|15.3 %|the period 2021-2027
Article 12|https://ec.europa.eu/info/law_en|COM(2020) 123|the question of|20 Member States|in 2018|Case C-121/21
27 May 2019
"""
WORDS, RARE = (re.split(r"[|\n]", text.strip()) for text in (COMMON, NUMBERED))
CARRIERS = (
    "The Commission would refer the Honourable Member to its answer to Written Question {}.",
    "I refer the hon. Member to the answer I gave on 4 December 2023 to {}.",
    "As stated in its reply to {}, it acts.",
)


def made(house: House, megabytes: float, cited: float, seed: int = 0) -> list[str]:
    """Texts of one house, about as many as asked for."""
    random = Random(seed)
    forms = sorted(house.printed)
    texts: list[str] = []
    size = 0
    while size < megabytes * 1e6:
        sentences = [
            " ".join([*random.choices(WORDS, k=random.randint(12, 26)), random.choice(RARE), "here."]) for _ in range(9)
        ]
        if random.random() < cited:
            for _ in range(random.randint(1, 3)):
                day = date(random.randint(2015, 2024), random.randint(1, 12), 5)
                parts = Parts(
                    random.randint(100, 9999), day.year, random.choice(house.letters), house.period_of(day), day
                )
                printed = printed_forms(house, parts, names=[random.choice(forms)])
                sentences.insert(random.randint(0, 9), random.choice(CARRIERS).format(*printed.values()))
        texts.append(" ".join(sentences))
        size += len(texts[-1].encode())
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description="identifier and citation scan")
    parser.add_argument("--megabytes", type=float, default=25)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cited", type=float, default=0.1)
    given = parser.parse_args()
    for house in (EUROPEAN_PARLIAMENT, UK_PARLIAMENT):
        listed = made(house, given.megabytes, given.cited)
        part = listed[:2000]
        plain = [(row, text, found) for row, text in enumerate(part) if (found := identifiers(text, house))]
        if list(identifiers_in(Texts.of(part), house)) != plain:
            raise SystemExit(f"{house.name}: the fast scan differs from the plain one")
        print(f"{house.name}: {len(plain) / len(part):.0%} of texts print an id")
        for factor in (1, 4):
            texts = Texts.of(listed[: len(listed) * factor // 4])
            size = len(texts.buffer) / 1e6
            for name, work in (("identifiers", identifiers_in), ("citations", citations_in)):
                took = seconds(lambda work=work, texts=texts, house=house: list(work(texts, house)), given.repeat)
                print(f"  {name:12} {size:6.1f} MB  {took:7.3f} s  {size / took:7.1f} MB/s")
            took = seconds(lambda texts=texts, house=house: masked_texts(texts, house), given.repeat)
            print(f"  {'masking':12} {size:6.1f} MB  {took:7.3f} s  {size / took:7.1f} MB/s")


if __name__ == "__main__":
    main()
