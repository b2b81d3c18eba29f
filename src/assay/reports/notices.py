"""Notices: what a reader of a mean should know besides, a line each."""

from __future__ import annotations

from collections.abc import Mapping

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
    lines += [model_line(model) for model in result.run.models]
    # Counts that systems and models noted bear names that are words.
    lines += [f"{count} {what}" for what, count in result.run.counts.items() if " " in what and count]
    for key, words in (
        ("expected_over_seeds", "expected over all seeds"),
        ("reachable", "the most that any system can reach"),
        ("mean_with_relevant", "mean over queries with a relevant passage alone"),
    ):
        told = [s for s in result.scores if key in s.extras and _tells(key, s.extras[key], s.mean, result)]
        if told:
            lines.append(f"{words}: " + ", ".join(f"{s.measure} {s.extras[key]:.4f}" for s in told))
    lines += _ceiling(result)
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


def _ceiling(result: Result) -> list[str]:
    """What a re-ranker had to choose from, and the most that it could make of it."""
    told = [s for s in result.scores if "ceiling" in s.extras]
    if not told:
        return []
    extras = told[0].extras
    most = ", ".join(f"{s.measure} {s.extras['ceiling']:.4f}" for s in told)
    held = f"{extras['candidates_held']:.0f} of {extras['candidates_relevant']:.0f} relevant passages"
    return [f"candidates hold {held} (mean recall {extras['candidate_recall']:.4f}); in their best order: {most}"]


def model_line(model: Mapping[str, str]) -> str:
    """What pins a model and how it was read, in a line; long digests by their beginning.

    Example:
        >>> model_line({"model": "package:net", "identity": "0123456789abcdef", "pooling": "mean", "device": "cpu"})
        'model package:net at 0123456789ab: device cpu, pooling mean'
    """
    pinned = " ".join(word[:12] for word in model.get("identity", "").split())
    name = f"model {model.get('model', '')}" + (f" at {pinned}" if pinned else "")
    rest = ", ".join(f"{k} {v!r}" if "prompt" in k else f"{k} {v}" for k, v in sorted(model.items()) if k not in _NAMED)
    return f"{name}: {rest}" if rest else name


_NAMED = ("model", "identity")


def _tells(key: str, value: float, mean: float, result: Result) -> bool:
    """Whether a further mean says something that the mean does not."""
    if key == "reachable":
        return any(s.counts.gold_ineligible for s in result.scores)
    return key == "expected_over_seeds" or abs(value - mean) > 1e-12
