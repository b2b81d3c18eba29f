"""The European Parliament's open data interface on loopback: made-up questions in its shapes, which misbehaves when asked.

`Portal` holds questions and answers and what their details and texts look like; `StandIn` serves one. A `Fault` makes
chosen calls of an address go wrong.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from europarl_files import docx_bytes, pdf_bytes, xhtml_bytes

CONTEXT = [
    {"data": "@graph", "@base": "https://data.europarl.europa.eu/"},
    "https://data.europarl.europa.eu/api/v2/context.jsonld",
]
CODES = {"en": "ENG", "de": "DEU", "fr": "FRA", "it": "ITA"}
MEDIA = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xhtml": "application/xhtml+xml",
    "pdf": "application/pdf",
}
WORDS = [
    first + second
    for first in (
        "har",
        "fish",
        "riv",
        "stor",
        "mar",
        "pol",
        "ener",
        "tra",
        "cour",
        "farm",
        "med",
        "cli",
        "ban",
        "rail",
    )
    for second in ("bour", "ing", "ers", "age", "ket", "len", "gy", "de", "age", "ish", "icine", "mate", "king", "way")
]


@dataclass
class Said:
    """One record: what its text says in each language, and in which kinds of file it is to be had."""

    id: str
    day: date
    title: str
    paragraphs: dict[str, list[str]]
    endings: tuple[str, ...] = ("docx", "pdf")
    answers: list[str] = field(default_factory=list)
    link: tuple[str, str] | None = None
    bare: bool = False
    addressee: str = "COM"


@dataclass
class Portal:
    """Questions and answers by id."""

    questions: dict[str, Said] = field(default_factory=dict)
    answers: dict[str, Said] = field(default_factory=dict)

    def ask(
        self,
        number: int,
        day: date,
        *,
        letter: str = "E",
        term: int = 9,
        languages: Sequence[str] = ("en",),
        endings: Sequence[str] = ("docx", "pdf"),
        says: str = "",
    ) -> Said:
        """Adds a question of that day and number; its words are drawn by its number."""
        id_ = f"{letter}-{term}-{day.year}-{number:06d}"
        printed = f"{letter}-{number:06d}/{day.year}"
        subject = _sentence(f"{id_} subject", 4).rstrip(".")
        paragraphs = {}
        for language in languages:
            heads = ("Question for written answer", "to the Commission", "Rule 138", "Subject")
            heads = (
                heads
                if language == "en"
                else ("Anfrage zur schriftlichen Beantwortung", "an die Kommission", "Artikel 138", "Betrifft")
            )
            body = [_sentence(f"{id_} {language} {n}", 22) for n in range(3)]
            paragraphs[language] = [
                f"{heads[0]} {printed}",
                heads[1],
                heads[2],
                "Ada Example (PPE)",
                f"{heads[3]}: {subject}",
                *([says] if says else []),
                *body,
            ]
        self.questions[id_] = Said(id_, day, subject, paragraphs, tuple(endings))
        return self.questions[id_]

    def reply(
        self,
        *questions: Said,
        after: int = 60,
        endings: Sequence[str] = ("docx", "pdf"),
        says: str = "",
        link: tuple[str, str] | None = None,
        bare: bool = False,
    ) -> Said:
        """Adds one answer to questions, under the id of the first."""
        id_ = f"{questions[0].id}-ASW"
        day = max(question.day for question in questions) + timedelta(after)
        printed = [f"{q.id[0]}-{q.id.split('-')[3]}/{q.id.split('-')[2]}" for q in questions]
        paragraphs = [
            "EN",
            *printed,
            "Answer given by Ms Example",
            "on behalf of the European Commission",
            f"({day.day}.{day.month}.{day.year})",
            *([says] if says else []),
            *(_sentence(f"{id_} {n}", 30) for n in range(2)),
        ]
        self.answers[id_] = Said(
            id_, day, "", {"en": paragraphs}, tuple(endings), [q.id for q in questions], link, bare
        )
        for question in questions:
            question.answers.append(id_)
        return self.answers[id_]

    def files(self) -> dict[str, bytes]:
        """Texts by their paths."""
        found = {}
        for said in (*self.questions.values(), *self.answers.values()):
            for language, paragraphs in said.paragraphs.items():
                for ending in said.endings:
                    found[path_of(said, language, ending)] = _text(said, paragraphs, ending)
        return found

    def work(self, said: Said, *, bare: bool = False) -> dict[str, Any]:
        """The details of a record in the shape of the interface; of an answer only its id where it is `bare`."""
        doc = f"eli/dl/doc/{said.id}"
        if bare:
            return {"id": doc}
        answer = said.id.endswith("-ASW")
        found: dict[str, Any] = {
            "id": doc,
            "type": "Work",
            "parliamentary_term": f"org/ep-{said.id.split('-')[1]}",
            "document_date": said.day.isoformat(),
            "is_realized_by": [self._expression(said, language) for language in said.paragraphs],
            "work_type": f"def/ep-document-types/{work_type(said.id)}",
            "creator": ["org/COM"] if answer else ["person/1000"],
            "identifier": said.id,
            "publisher": "org/EU_PARLIAMENT",
            "identifierYear": said.id.split("-")[2],
        }
        if answer:
            asked = [f"eli/dl/doc/{id_}" for id_ in said.answers]
            found["answers_to"] = asked[0] if len(asked) == 1 else asked
            found["title_dcterms"] = {"en": f"Answer for question {said.id}"}
        else:
            found["title_dcterms"] = dict.fromkeys(said.paragraphs, said.title)
            found["workHadParticipation"] = [
                _participation(said.id, "1000", "had_participant_person", "person/1000", "AUTHOR"),
                _participation(said.id, "COM", "had_participant_organization", "org/COM", "ADDRESSEE"),
            ]
            replies = [self.answers[id_] for id_ in said.answers]
            found["inverse_answers_to"] = [self.work(reply, bare=reply.bare) for reply in replies]
        return found

    def _expression(self, said: Said, language: str) -> dict[str, Any]:
        place = f"eli/dl/doc/{said.id}/{language}"
        shapes = [
            {
                "id": f"{place}/{ending}",
                "type": "Manifestation",
                "is_exemplified_by": path_of(said, language, ending),
                "media_type": f"https://www.iana.org/assignments/media-types/{MEDIA[ending]}",
                "format": f"http://publications.europa.eu/resource/authority/file-type/{ending.upper()}",
            }
            for ending in said.endings
        ]
        return {
            "id": place,
            "type": "Expression",
            "is_embodied_by": shapes,
            "language": f"http://publications.europa.eu/resource/authority/language/{CODES[language]}",
            **({"title": {language: said.title}} if said.title else {}),
        }


def work_type(id_: str) -> str:
    if id_.endswith("-ASW"):
        return "QUESTION_WRITTEN_ANSWER"
    return "QUESTION_WRITTEN_PRIORITY" if id_.startswith("P") else "QUESTION_WRITTEN"


def path_of(said: Said, language: str, ending: str) -> str:
    kind = "reds_iMaQp_Asw" if said.id.endswith("-ASW") else "reds_iMaQp"
    return f"distribution/{kind}/{said.id}/{said.id}_{language}.{ending}"


def quarter(questions: int = 60, *, context: int = 8) -> Portal:
    """A first quarter of 2024 with context of late 2023: every shape that the interface is known to have."""
    portal = Portal()
    before = [portal.ask(3000 + at, date(2023, 10, 1) + timedelta(9 * at)) for at in range(context)]
    for asked in before:
        portal.reply(asked, after=40)
    made = [_one_of_the_quarter(portal, at, questions) for at in range(questions)]
    portal.reply(made[0], made[3], made[4], after=33)
    portal.reply(made[5], bare=True)
    for at, question in enumerate(made):
        if question.answers or at % 17 == 16:
            continue
        refers = ""
        if at >= 30:
            _, _, year, number = (before[at % context] if at % 2 and before else made[at - 7]).id.split("-")
            refers = "The Commission would refer the Honourable Member to its answer to Written Question"
            refers = f"{refers} {'P' if number.endswith('5') and year == '2024' else 'E'}-{number}/{year}."
        endings = {8: ("xhtml",), 9: ("pdf",), 10: ("docx",)}.get(at, ("docx", "pdf"))
        # Earlier questions are answered sooner, so that what is cited is there already.
        portal.reply(question, after=20 + at, endings=endings, says=refers, bare=at == 11)
    portal.ask(9001, date(2024, 4, 2))
    portal.ask(3999, date(2023, 12, 29))
    return portal


def _one_of_the_quarter(portal: Portal, at: int, questions: int) -> Said:
    day = date(2024, 1, 2) + timedelta(at * 88 // questions)
    letter = "P" if at % 10 == 4 else "E"
    endings = {6: ("xhtml",), 7: ("pdf",)}.get(at, ("docx", "pdf"))
    languages = ("en", "de") if at % 3 == 0 and at not in (6, 7) else ("en",)
    return portal.ask(at + 1, day, letter=letter, languages=languages, endings=endings)


def _sentence(seed: str, words: int) -> str:
    drawn = random.Random(seed)
    return " ".join(drawn.choice(WORDS) for _ in range(words)).capitalize() + "."


def _participation(id_: str, who: str, key: str, reference: str, role: str) -> dict[str, Any]:
    return {
        "id": f"eli/dl/participation/{id_}_{who}",
        "type": "Participation",
        key: [reference],
        "participation_role": f"def/ep-roles/{role}",
    }


def _text(said: Said, paragraphs: Sequence[str], ending: str) -> bytes:
    if ending == "pdf":
        return pdf_bytes(paragraphs)
    return (docx_bytes if ending == "docx" else xhtml_bytes)(paragraphs, link=said.link)


@dataclass
class Fault:
    """What goes wrong with calls whose address a pattern matches: the first `times` of them after `after`.

    `kind` is a status, or `silent` (no answer), `cut` (half a body), `cut gzip`, `page` (a web page with a 200), `error`
    (an error within a 200), `short` (half of a list), `other` (other bytes with a 200), `body` (these bytes).
    """

    pattern: str
    kind: int | str
    times: int = 1
    after: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def due(self, address: str) -> bool:
        if not re.search(self.pattern, address):
            return False
        if self.after:
            self.after -= 1
            return False
        self.times -= 1
        return self.times >= 0


@dataclass(frozen=True)
class Call:
    """One call: its address, unquoted, and its headers."""

    address: str
    headers: Mapping[str, str]


class _Server(ThreadingHTTPServer):
    """A server that says nothing of clients that go away, as those do that read no further than a status."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class StandIn:
    """The server, a context; `base` is its address, `calls` what was asked of it.

    Attributes:
        most_ids: Ids that one call for details may have; more are refused with 403.
        refused: Ids that are refused with 403 in any call.
        unknown: Ids that are left out of details without a word.
        year_of: Whether lists take the year from the `id` or the `date`.
        ends_with: The status of an empty page.
        total: Whether lists tell how many there are.
        gzip: Whether bodies are packed for clients that take that.
    """

    def __init__(self, portal: Portal, *faults: Fault) -> None:
        self.portal = portal
        self.faults = list(faults)
        self.calls: list[Call] = []
        self.most_ids = 60
        self.refused: set[str] = set()
        self.unknown: set[str] = set()
        self.year_of = "id"
        self.ends_with = 204
        self.total = False
        self.gzip = True
        self.stubs: list[dict[str, Any]] = []
        self.on_call = lambda number: None
        self.files = portal.files()
        self._closing = threading.Event()
        self.server = _Server(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.base = f"{self.root}/api/v2"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> StandIn:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def addresses(self, pattern: str = "") -> list[str]:
        """Addresses that were asked for and match a pattern."""
        return [call.address for call in self.calls if re.search(pattern, call.address)]

    def listed(self, year: int, kind: str) -> list[dict[str, Any]]:
        """Stubs of a year and type of work."""
        asked = [
            said
            for id_, said in sorted(self.portal.questions.items())
            if work_type(id_) == kind and year == (int(id_.split("-")[2]) if self.year_of == "id" else said.day.year)
        ]
        stubs = [
            {
                "id": f"eli/dl/doc/{said.id}",
                "type": "Work",
                "work_type": f"def/ep-document-types/{kind}",
                "identifier": said.id,
            }
            for said in asked
        ]
        return stubs + (self.stubs if kind == "QUESTION_WRITTEN" else [])

    def envelope(self, data: Iterable[Any], **more: Any) -> bytes:
        return json.dumps({"data": list(data), **more, "@context": CONTEXT}).encode()

    def answered(self, address: str, query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        """Status, type and body of the response to a call that goes well."""
        path = address.removeprefix("/api/v2")
        if path == "/parliamentary-questions":
            return self._list(query)
        if path.startswith("/parliamentary-questions/"):
            return self._details(path.rpartition("/")[2].split(","))
        if path.startswith("/documents/"):
            said = self.portal.answers.get(path.rpartition("/")[2])
            if said is None:
                return 404, "text/plain", b""
            return 200, "application/ld+json", self.envelope([self.portal.work(said)])
        data = self.files.get(address.lstrip("/"))
        if data is None:
            return 404, "text/plain", b"no such file"
        return 200, MEDIA[address.rpartition(".")[2]], data

    def _list(self, query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        offset, limit = int(query["offset"][0]), int(query["limit"][0])
        stubs = self.listed(int(query["year"][0]), query["work-type"][0])
        if offset >= len(stubs):
            return self.ends_with, "application/ld+json", self.envelope([]) if self.ends_with == 200 else b""
        more = {"meta": {"total": len(stubs)}} if self.total else {}
        return 200, "application/ld+json", self.envelope(stubs[offset : offset + limit], **more)

    def _details(self, ids: list[str]) -> tuple[int, str, bytes]:
        if len(ids) > self.most_ids or self.refused & set(ids):
            return 403, "text/plain", b"Forbidden"
        known = [self.portal.questions[id_] for id_ in ids if id_ in self.portal.questions and id_ not in self.unknown]
        if not known:
            return 404, "text/plain", b""
        return 200, "application/ld+json", self.envelope(map(self.portal.work, known))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(_Handler):
            pass

        Handler.stand_in = stand_in
        return Handler


class _Handler(BaseHTTPRequestHandler):
    stand_in: StandIn
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        here = self.stand_in
        address = unquote(self.path)
        here.calls.append(Call(address, {name.lower(): value for name, value in self.headers.items()}))
        here.on_call(len(here.calls))
        split = urlsplit(address)
        status, media, body = here.answered(split.path, parse_qs(split.query))
        fault = next((fault for fault in here.faults if fault.due(address)), None)
        if fault is None:
            self._send(status, media, body)
        else:
            self._fail(fault, status, media, body)

    def _fail(self, fault: Fault, status: int, media: str, body: bytes) -> None:
        if fault.kind == "silent":
            self.stand_in._closing.wait(20)
            self.close_connection = True
        elif fault.kind in ("cut", "cut gzip"):
            self._send(status, media, body, cut=str(fault.kind))
        elif fault.kind == "page":
            self._send(200, "text/html; charset=utf-8", b"<html><script>check()</script></html>", fault.headers)
        elif fault.kind == "error":
            self._send(200, "application/json", json.dumps({"error": "Internal failure"}).encode())
        elif fault.kind == "short":
            found = json.loads(body)
            found["data"] = found["data"][: max(1, len(found["data"]) // 2)]
            self._send(status, media, json.dumps(found).encode())
        elif fault.kind == "body":
            self._send(200, fault.headers.get("Content-Type", media), fault.body)
        else:
            page = b"<html><script>check()</script></html>" if fault.kind == 202 else b""
            self._send(int(fault.kind), "text/html" if page else "text/plain", page, fault.headers)

    def _send(
        self, status: int, media: str, body: bytes, headers: Mapping[str, str] | None = None, *, cut: str = ""
    ) -> None:
        self.send_response_only(status)
        told = {"Date": formatdate(usegmt=True), "Content-Type": media, **(headers or {})}
        if body and cut != "cut" and self.stand_in.gzip and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, mtime=0)
            told["Content-Encoding"] = "gzip"
        if cut == "cut gzip":
            body = body[: len(body) // 2]
        if status != 204:
            told["Content-Length"] = str(len(body))
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut == "cut" else body)
        if cut:
            self.close_connection = True
