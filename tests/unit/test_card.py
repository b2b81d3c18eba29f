"""The card: YAML that reads back as it was written, licences, sizes, and what only a person knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import FormatError, UnknownNameError, UsageError
from assay.formats import front_matter
from assay.publishing import About, read_about
from assay.publishing.about import licence_fields
from assay.publishing.card import front_of, size_category, table, text_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SPECIAL = st.sampled_from(
    [
        "no",
        "yes",
        "on",
        "off",
        "y",
        "N",
        "NO",
        "true",
        "null",
        "~",
        "1",
        "01",
        "1_000",
        "0x1f",
        "1e3",
        ".5",
        ".inf",
        ".nan",
        "12:30",
        "2024-01-02",
        "=",
        "<<",
        "-",
        "?",
        ":",
        "#",
        "&",
        "*",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "a:b",
        "2176502",
        "-1",
        "+1",
        "0o17",
        "0b1",
        "1.",
    ]
)
SCALAR = TEXT | SPECIAL | st.integers() | st.booleans()
FRONT = st.dictionaries(
    TEXT.filter(bool) | SPECIAL,
    st.recursive(
        SCALAR | st.lists(SCALAR, max_size=3),
        lambda inner: st.lists(st.dictionaries(TEXT.filter(bool) | SPECIAL, inner, min_size=1, max_size=3), max_size=3),
        max_leaves=6,
    ),
    min_size=1,
    max_size=4,
)


@given(front=FRONT)
def test_front_matter_reads_back_as_it_was_written(front: dict[str, Any]) -> None:
    lines = front_matter.written(front).split("\n")
    assert (lines[0], lines[-2], lines[-1]) == ("---", "---", "")
    assert yaml.safe_load("\n".join(lines[1:-2])) == front


def test_case_P07(tmp_path: Path) -> None:
    about = About(title="2024-01-02", languages=("no",), licence="MIT", tags=("on", "2024", "12:30"))
    (tmp_path / "README.md").write_text(text_of(about, front_of(about, [], revision="2176502"), {}))
    front, body = front_matter.read(tmp_path / "README.md")
    assert front["language"] == ["no"]
    assert front["revision"] == "2176502"
    assert front["pretty_name"] == "2024-01-02"
    assert front["tags"] == ["on", "2024", "12:30"]
    assert body.strip() == "# 2024-01-02"
    text = (tmp_path / "README.md").read_text()
    assert "\nlanguage:\n- 'no'\n" in text
    assert "\nrevision: '2176502'\n" in text
    (tmp_path / "README.md").write_text("---\nlanguage:\n- no\nrevision: 2176502\n---\n")
    front, _ = front_matter.read(tmp_path / "README.md")
    assert front == {"language": [False], "revision": 2176502}, "what an unquoted card says"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no card", "no front matter"),
        ("---\na: 1\n", "no front matter"),
        ("---\n- a\n---\n", "no mapping"),
        ("---\na: b: c\n---\n", r"README.md:2: not YAML"),
        ("---\na:\n  b: 1\n  b: 2\n---\n", "README.md:4: the key 'b' stands twice"),
    ],
)
def test_front_matter_that_cannot_be_read_says_where(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(FormatError, match=says):
        front_matter.read(tmp_path / "README.md")


def test_a_byte_order_mark_and_windows_lines_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes("\ufeff---\r\na: 'é'\r\n---\r\nbody\r\n".encode())
    assert front_matter.read(tmp_path / "README.md") == ({"a": "é"}, "body\r\n")


def test_sizes_have_the_hubs_names() -> None:
    rows = [0, 999, 1_000, 9_999, 10_000, 10**5, 10**6, 10**7, 10**8, 10**9, 10**10]
    names = ["n<1K", "n<1K", "1K<n<10K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B"]
    assert [size_category(n) for n in rows] == [*names, "1B<n<10B", "n>10B"]


@pytest.mark.parametrize(
    ("licence", "fields"),
    [
        ("", {}),
        ("MIT", {"license": "mit"}),
        ("MIT OR Apache-2.0", {"license": ["mit", "apache-2.0"]}),
        ("OGL-UK-3.0", {"license": "other", "license_name": "ogl-uk-3.0"}),
        ("(MIT AND X) or Y", {"license": ["mit", "other"], "license_name": "mit-and-x-or-y"}),
    ],
)
def test_licences_are_the_hubs_or_other(licence: str, fields: dict[str, Any]) -> None:
    assert licence_fields(licence) == fields


def test_about_is_read_from_toml(tmp_path: Path) -> None:
    place = tmp_path / "about.toml"
    place.write_text('title = "Guides"\nlanguages = ["en", "no"]\ntags = []\nsummary = """\nTwo\nlines"""\n')
    assert read_about(place) == About(title="Guides", languages=("en", "no"), summary="Two\nlines")
    assert About.of(read_about(place).record()) == read_about(place)
    for text, error, says in (
        ("titel = 'x'", UnknownNameError, "no key of about.toml 'titel'; did you mean 'title'"),
        ("title = 3", FormatError, r"about.toml \$.title: expected text, got 3"),
        ("languages = 'en'", FormatError, r"\$.languages: expected a list of texts"),
        ("languages = ['English']", UsageError, "'English' is no language code"),
        ("title = ", FormatError, "about.toml: not TOML"),
    ):
        place.write_text(text)
        with pytest.raises(error, match=says):
            read_about(place)


def test_odd_texts_about_a_collection_are_told() -> None:
    with pytest.raises(UsageError, match="title holds bytes that are no UTF-8"):
        About(title="\udcff")
    with pytest.raises(UsageError, match="tags holds bytes"):
        About(tags=("a", "\udcff"))
    with pytest.raises(FormatError, match="expected a mapping"):
        About.of(["title"])  # type: ignore[arg-type]


def test_cells_stay_in_their_columns() -> None:
    assert table(("a",), [("x | y\nz",)]).splitlines()[-1] == r"| x \| y z |"
