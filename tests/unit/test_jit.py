from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.kernels import resampling
from assay.kernels.jit import Compiled, compiled


@compiled(inline=True)
def _doubled(number):
    return number * 2.0


@compiled(fastmath=("contract",))
def _sum_of_doubles(values):
    total = 0.0
    for value in values:
        total += _doubled(value)
    return total


def test_a_compiled_function_calls_another_and_equals_its_definition():
    values = np.arange(5.0)
    assert _sum_of_doubles(values) == 20.0
    assert _sum_of_doubles(values) == _sum_of_doubles.definition(values)
    assert "compiled" in repr(_sum_of_doubles)


def test_the_decorator_keeps_name_and_docstring():
    assert isinstance(_doubled, Compiled)
    assert _doubled.__name__ == "_doubled"
    assert _doubled.__module__ == __name__


def test_a_compiled_function_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(resampling._word)) is resampling._word


@pytest.mark.parametrize("fault", ["nowhere", "full"])
def test_without_a_writable_cache_the_function_runs_all_the_same(fault, monkeypatch):
    from numba.core import caching

    if fault == "nowhere":
        monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    else:

        def save(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(caching.IndexDataCacheFile, "load", lambda *_: None)
        monkeypatch.setattr(caching.IndexDataCacheFile, "save", save)

    @compiled()
    def tripled(number):
        return number * 3

    assert tripled(4) == 12
    assert tripled.dispatcher().stats.cache_path is None


def _run(folder: Path, code: str) -> str:
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(folder)])}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_process_loads_the_code_and_a_changed_callee_is_noticed(tmp_path):
    inner, outer = tmp_path / "inner.py", tmp_path / "outer.py"
    inner.write_text("from assay.kernels.jit import compiled\n@compiled()\ndef f(x):\n    return x + 1\n")
    outer.write_text(
        "from assay.kernels.jit import compiled\nfrom inner import f\n@compiled()\ndef g(x):\n    return 10 * f(x)\n"
    )
    code = "import outer; print(outer.g(1), sum(outer.g.dispatcher().stats.cache_hits.values()))"
    assert _run(tmp_path, code) == "20 0"
    assert _run(tmp_path, code) == "20 1"
    inner.write_text(inner.read_text().replace("x + 1", "x + 20"))
    assert _run(tmp_path, code) == "210 0"


def test_importing_the_module_and_decorating_imports_no_numba():
    code = "import sys; import assay.kernels.resampling; print('numba' in sys.modules)"
    assert _run(Path(), code) == "False"
