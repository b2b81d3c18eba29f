"""Notices: what a reader of a mean should know besides, a line each."""

from __future__ import annotations

from assay.experiment import Result


def notices(result: Result) -> list[str]:
    """What was read besides texts, what no system could reach, what nobody judged or has no bound, what chance gives.

    Example:
        >>> import assay
        >>> from assay.experiment import Judging, judged_files
        >>> run, qrels = assay.Run.of({"q": {"x": 2.0, "y": 1.0}}), assay.Qrels.of({"q": {"a": 1}})
        >>> notices(judged_files(run, qrels, name="qrels", judging=Judging(("RR@1",))))
        ['unjudged passages within the cutoff: RR@1 1', 'no passage of the lists is judged: are the ids of one form?']
    """
    lines = []
    if "link:question" in result.spec.get("reads", ()):
        lines.append("reads the view link:question: texts of the questions that earlier answers replied to")
    for key, words in (
        ("expected_over_seeds", "expected over all seeds"),
        ("reachable", "the most that any system can reach"),
        ("mean_with_relevant", "mean over queries with a relevant passage alone"),
    ):
        told = [s for s in result.scores if key in s.extras and _tells(key, s.extras[key], s.mean, result)]
        if told:
            lines.append(f"{words}: " + ", ".join(f"{s.measure} {s.extras[key]:.4f}" for s in told))
    unjudged = [f"{s.measure} {s.counts.unjudged}" for s in result.scores if s.counts.unjudged]
    if unjudged:
        lines.append("unjudged passages within the cutoff: " + ", ".join(unjudged))
    lines += [
        f"{s.measure} is not bounded: {s.extras['not_bounded']:.0f} lists were cut off before the cutoff"
        for s in result.scores
        if "not_bounded" in s.extras
    ]
    if result.run.counts.get("none_judged"):
        lines.append("no passage of the lists is judged: are the ids of one form?")
    return lines


def _tells(key: str, value: float, mean: float, result: Result) -> bool:
    """Whether a further mean says something that the mean does not."""
    if key == "reachable":
        return any(s.counts.gold_ineligible for s in result.scores)
    return key == "expected_over_seeds" or abs(value - mean) > 1e-12
