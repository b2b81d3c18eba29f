"""The house keeps its rules: layers, one place for heavy imports, files in their places."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "assay"
MODULES = sorted(SOURCE.rglob("*.py"))


def test_import_contracts_hold() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    if not program.exists():
        pytest.fail("lint-imports is not installed beside python: install the dev extra")
    done = subprocess.run([program, "--config", "pyproject.toml"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_tells_the_layers_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.partition("\n## Layers\n")[2].partition("\n## ")[0]
    [told] = [part for part in section.split("\n\n") if part.strip().startswith("`__main__`")]
    # Parentheses say that a layer may be absent, which is of no interest to a reader.
    assert [" ".join(layer.split()) for layer in re.findall(r"`([^`]+)`", told)] == [
        re.sub(r"[()]", "", layer) for layer in layers
    ]


def test_the_page_has_a_row_for_every_place() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("\n## Where things live\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"[\w/]+(?:\.py|/)", " ".join(row.split("|")[1] for row in table.splitlines() if "|" in row)))
    places = {p.name if p.is_file() else f"{p.name}/" for p in SOURCE.iterdir() if not p.name.startswith("_")}
    assert places - told - {"py.typed"} == set()
    assert [place for place in told if not (SOURCE / place).exists()] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_module_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text())
    doc = ast.get_docstring(tree)
    assert doc
    assert len(doc.splitlines()[0]) > 10


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_module_is_too_long_and_none_is_a_drawer(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 450
    assert path.stem not in {"utils", "util", "helpers", "common", "misc", "manager"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_asserts_on_input(path: Path) -> None:
    asserts = [n.lineno for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Assert)]
    assert not asserts


HEAVY = {
    "numba": "kernels",
    "scipy": "nowhere",
    "torch": "nowhere",
    "typer": "cli",
    "rich": "cli",
    "pyarrow": "inside functions",
}


def test_heavy_packages_are_imported_inside_functions() -> None:
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            names = []
            if isinstance(node, ast.Import):
                names = [a.name.split(".")[0] for a in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names = [node.module.split(".")[0]]
            for name in names:
                if name == "typer" and path.parent.name == "cli":
                    continue
                assert name not in HEAVY, f"{path}: {name} at import"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom assay.cli import app\n"
        "CliRunner().invoke(app, ['--help'])\n"
        "print([m for m in ('numpy', 'pyarrow', 'numba', 'scipy', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
