"""The report in a real browser: it works without a network, in light and dark, wide and narrow."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import assay
from assay import experiment
from assay.reports import page

pytestmark = pytest.mark.heavy

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1000",
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two tasks; in the dated one a given run holds passages that are too new."""
    chunks, questions = assay.open("demo:chunks"), assay.open("demo:questions")
    results = [
        experiment.run_system(chunks, chunks.task("passages"), assay.system_of(text))
        for text in ("bm25", "bm25('english')")
    ]
    answer, precedent = questions.task("answer"), questions.task("precedent")
    unfiltered = assay.retrieve(answer, "bm25")
    results.append(experiment.judged_run(unfiltered, questions, precedent, label="a run file"))
    out = tmp_path_factory.mktemp("report") / "report.html"
    compared = experiment.comparisons(results[:2])
    page.write(results, out, opened={"demo:chunks": chunks, "demo:questions": questions}, compared=compared)
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no chromium and chromedriver on this machine")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def test_it_loads_nothing_and_logs_nothing(browser: Any, report: Path) -> None:
    browser.get(report.as_uri())
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert asked
    assert all(url.startswith("file:") for url in asked)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_tables_plots_and_tests_are_shown(browser: Any, report: Path) -> None:
    browser.get(report.as_uri())
    text = browser.execute_script("return document.querySelector('#g0').innerText")
    assert "bm25('english')" in text
    assert "PAIRED TESTS" in text.upper()
    assert browser.execute_script("return document.querySelectorAll('#g0 figure svg circle').length") == 6
    row = browser.execute_script("return document.querySelector('#g0 table tbody tr td.n').innerText.split('\\n')")
    low, high = map(float, row[1].split(" – "))
    assert low < float(row[0]) < high


def test_a_query_opens_with_its_ranked_passages_and_gold(browser: Any, report: Path) -> None:
    browser.get(report.as_uri())
    assert browser.execute_script("return document.querySelectorAll('#g0 tr.q').length") == 25
    browser.execute_script("document.querySelector('#g0 tr.q').click()")
    assert browser.execute_script("return document.querySelectorAll('#g0 td.open h4').length") >= 2
    assert browser.execute_script("return document.querySelectorAll('#g0 td.open .p').length") >= 20
    marked = browser.execute_script(
        "return [...document.querySelectorAll('#g0 td.open .p.gold mark')].map(m => m.textContent)"
    )
    assert marked
    assert all(marked)
    browser.execute_script("document.querySelector('#g0 tr.q').click()")
    assert browser.execute_script("return document.querySelectorAll('#g0 td.open').length") == 0


def test_ineligible_passages_are_marked(browser: Any, report: Path) -> None:
    browser.get(report.as_uri())
    browser.execute_script("document.querySelectorAll('#g1 tr.q.has').forEach(r => r.click())")
    marks = browser.execute_script("return [...document.querySelectorAll('#g1 .p.no .tag.i')].map(t => t.textContent)")
    assert len(marks) > 20
    assert set(marks) == {"ineligible"}


def test_find_sort_and_turn_pages(browser: Any, report: Path) -> None:
    browser.get(report.as_uri())
    count = "return document.querySelector('#g0 .count').textContent"
    assert browser.execute_script(count) == "1–25 of 146"
    browser.execute_script("document.querySelector('#g0 .next').click()")
    assert browser.execute_script(count) == "26–50 of 146"
    script = (
        "const f = document.querySelector('#g0 .find'); f.value = arguments[0]; f.dispatchEvent(new Event('input'))"
    )
    browser.execute_script(script, "guide-056")
    assert browser.execute_script(count) == "1–1 of 1"
    browser.execute_script(script, "")
    browser.execute_script("document.querySelectorAll('#g0 th.sort')[1].click()")
    values = browser.execute_script(
        "return [...document.querySelectorAll('#g0 tr.q')].map(r => parseFloat(r.cells[1].textContent))"
    )
    assert values == sorted(values, reverse=True)
    assert values[0] > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_light_and_dark_wide_and_narrow(browser: Any, report: Path, scheme: str, width: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    browser.get(report.as_uri())
    colours = browser.execute_script(
        "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor].map(c => c.match(/\\d+/g).slice(0, 3).map(Number))"
    )
    ink, paper = (sum(c) for c in colours)
    assert (ink < paper) == (scheme == "light")
    assert abs(ink - paper) > 450
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_text_cannot_become_markup(browser: Any, tmp_path: Path) -> None:
    run = assay.Run.of(
        [("q</script><b>", "<img src=x onerror=alert(1)>", 1.0)], name="</script><script>throw 1</script>"
    )
    qrels = assay.Qrels.of([("q</script><b>", "<img src=x onerror=alert(1)>", 1)])
    result = experiment.judged_files(run, qrels, name="<i>qrels</i>", judging=experiment.Judging())
    out = tmp_path / "page.html"
    page.write([result], out)
    browser.get(out.as_uri())
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.querySelectorAll('img, i:not(.meter i), b b').length") == 0
    assert "q</script><b>" in browser.execute_script("return document.querySelector('tr.q').innerText")
