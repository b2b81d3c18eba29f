"""The catalogue: calls with plain values, near names for wrong ones, and never any code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import catalog
from assay.call import call_of
from assay.errors import UnknownNameError, UsageError
from assay.retrieval.bm25 import BM25
from assay.system import spec_of


@dataclass(frozen=True)
class Mix:
    """Takes systems and plain values as parameters."""

    parts: tuple[Any, ...] = ()
    method: str = "rrf"
    weights: Any = None
    k: int = 60
    first: Any = None
    name: ClassVar[str] = "mix"
    aliases: ClassVar[tuple[str, ...]] = ("fusion-of",)


@dataclass(frozen=True)
class Needs:
    """Has a parameter without a default."""

    model: str
    name: ClassVar[str] = "needs"


@pytest.fixture(autouse=True)
def _with_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(sorted({**catalog.known("system"), "mix": Mix, "needs": Needs}.items()))
    really = catalog.known
    monkeypatch.setattr(catalog, "known", lambda kind: known if kind == "system" else really(kind))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("bm25", BM25()),
        ("  bm25  ", BM25()),
        ("bm25()", BM25()),
        ("bm25('english')", BM25("english")),
        ("bm25(k1=0.9, b=0.4)", BM25(k1=0.9, b=0.4)),
        ('bm25("english", k1 = 2)', BM25("english", k1=2)),
        ("bm25(stop_words=['the', 'of'])", BM25(stop_words=("the", "of"))),
        ("mix", Mix()),
        ("mix([bm25, bm25('english')])", Mix((BM25(), BM25("english")))),
        ("mix((bm25, mix(parts=[bm25(k1=0.9)], k=1)))", Mix((BM25(), Mix((BM25(k1=0.9),), k=1)))),
        ("mix(method=minmax)", Mix(method="minmax")),
        ("mix(method=minmax, first=bm25)", Mix(method="minmax", first=BM25())),
        ("mix(method='bm25')", Mix(method="bm25")),
        ("mix(weights=[0.5, -1, None, True, capped])", Mix(weights=(0.5, -1, None, True, "capped"))),
        ("mix(weights={'a': 1})", Mix(weights={"a": 1})),
        ("needs(bm26)", Needs("bm26")),
    ],
)
def test_a_call_makes_the_system(text: str, made: Any) -> None:
    assert catalog.system(text) == made
    assert catalog.made("system", text) == made


@pytest.mark.parametrize(
    "text", ["bm25", "bm25('english', k1=0.9)", "mix([bm25(k1=0.9), mix([bm25], method='minmax')], weights=[0.5, 2])"]
)
def test_a_spec_written_as_a_call_makes_the_same_system(text: str) -> None:
    made = catalog.system(text)
    written = call_of(spec_of(made))
    assert catalog.system(written) == made
    short = call_of(spec_of(made), spec_of(type(made)()))
    assert catalog.system(short) == made
    assert len(short) <= len(written)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bm52", "there is no system 'bm52'; did you mean 'bm25'?"),
        ("BM25", "there is no system 'BM25'; did you mean 'bm25'?"),
        ("bm25x(k1=1)", "did you mean 'bm25'?"),
        ("zebra", "there is no system 'zebra'; known: bm25"),
        ("bm25(k=1)", "there is no parameter of bm25 'k'"),
        ("bm25(languge='english')", "did you mean 'language'?"),
        ("bm25(name='x')", "there is no parameter of bm25 'name'"),
        ("mix([bm25(delt=1)])", "there is no parameter of bm25 'delt'; did you mean 'delta'?"),
        ("mix(first=bm52())", "there is no system 'bm52'"),
    ],
)
def test_unknown_names_come_with_near_ones(text: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        catalog.system(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read"),
        ("bm25(", "cannot be read"),
        ("bm25; bm25", "cannot be read"),
        ("a\0b", "cannot be read"),
        ("'bm25'", "is not a plain value"),
        ("[bm25]", "is not a plain value"),
        ("25", "is not a plain value"),
        ("bm25(k1=1, k1=2)", "k1 stands where one name=value may"),
        ("bm25(**{'k1': 1})", "** stands where one name=value may"),
        ("bm25(*[1])", "is not a plain value"),
        ("mix(weights={[]: 1})", "is not a plain value"),
        ("needs", "needs: missing 1 required positional argument: 'model'; its parameters are model"),
        ("needs('a', 'b', 'c')", "its parameters are model"),
        ("bm25('english', language='german')", "multiple values"),
        ("(" * 300, "cannot be read"),
    ],
)
def test_what_is_no_call_with_plain_values_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        catalog.system(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "code",
    [
        "__import__('os').system('touch {}')",
        "open('{}', 'w')",
        "(lambda: open('{}', 'w'))()",
        "[open('{}', 'w') for _ in '1']",
        "(x := open('{}', 'w'))",
        "f\"{{open('{}', 'w')}}\"",
        "bm25.__class__",
        "1 if open('{}', 'w') else 2",
        "eval(\"open('{}', 'w')\")",
        "'a' * 10 ** 9",
    ],
)
@pytest.mark.parametrize(
    "frame", ["{}", "bm25({})", "mix(weights=[{}])", "mix(first=mix({}))", "mix(weights={{'a': {}}})"]
)
def test_no_code_is_run(code: str, frame: str, tmp_path: Any) -> None:
    touched = tmp_path / "touched"
    with pytest.raises(UsageError):
        catalog.system(frame.format(code.format(touched)))
    assert not touched.exists()


@settings(deadline=None)
@given(st.text(alphabet="bm25()[]{}'\"=,.*-+ k1e:mix\n\\", max_size=30) | st.text(max_size=20))
def test_any_text_is_a_system_or_a_usage_error(text: str) -> None:
    try:
        made = catalog.system(text)
    except UsageError:
        return
    assert isinstance(made, BM25 | Mix | Needs)


def test_known_names_lead_to_dataclasses_with_that_name_and_aliases() -> None:
    for kind in catalog.KINDS:
        known = catalog.known(kind)
        assert list(known) == sorted(known)
        for name, cls in known.items():
            assert name == cls.name or name in cls.aliases
    assert catalog.known("measure")["MRR"] is catalog.known("measure")["RR"]


def test_bare_names_are_values_in_measures_too() -> None:
    measure = catalog.made("measure", "nDCG(gain=exp)")
    assert measure.gain == "exp"
    assert catalog.made("measure", "R(capped=True, cutoff=5)").capped is True
    with pytest.raises(UnknownNameError, match="parameter of RR"):
        catalog.made("measure", "RR(gain=exp)")


def test_strangers_register_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    from importlib import metadata

    class Entry:
        def load(self) -> type[Mix]:
            return Mix

    class Other:
        def load(self) -> type[Any]:
            return type("NoDataclass", (), {"name": "plain"})

    groups = []
    monkeypatch.setattr(metadata, "entry_points", lambda group: groups.append(group) or [Entry(), Other()])
    known = catalog.known.__wrapped__("system")
    assert known["mix"] is known["fusion-of"] is Mix
    assert "bm25" in known
    assert "plain" not in known
    assert groups == ["assay.systems"]


def test_a_call_that_cannot_be_read_is_answered_with_one_of_its_kind() -> None:
    for kind, example in catalog.EXAMPLES.items():
        with pytest.raises(UsageError, match="cannot be read") as caught:
            catalog.made(kind, "x(")
        assert str(caught.value).endswith(example)
        for call in example.split(" or "):
            name = call.partition("(")[0]
            assert name in catalog.known(kind), call
    assert list(catalog.EXAMPLES) == list(catalog.KINDS)
