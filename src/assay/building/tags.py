"""Tags: taken out of texts that were cut from web pages, in two ways that differ where `<` is part of a sentence.

Entities (`&amp;`) stay as they are, and so does everything between tags.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_ANY_TAG = re.compile(r"<.*?>")
_HTML = (
    "a|abbr|address|article|aside|b|blockquote|br|caption|cite|code|col|colgroup|dd|del|dfn|div|dl|dt|em|figcaption|"
    "figure|footer|h[1-6]|header|hr|i|img|ins|kbd|li|main|mark|nav|ol|p|pre|q|s|samp|section|small|span|strong|sub|"
    "summary|sup|table|tbody|td|tfoot|th|thead|time|tr|u|ul|var"
)
# Attributes need a value: `income <b and c> d` is text.
_HTML_TAG = re.compile(rf"""</?(?:{_HTML})(?:\s+[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+))*\s*/?>""", re.IGNORECASE)


def without_any_tag(raw: str) -> str:
    """The text without what stands between `<` and the next `>` on its line, stripped: as DAPR cleans.

    Example:
        >>> without_any_tag("<p>Pay if income < 100 and savings > 50.</p>")
        'Pay if income  50.'
    """
    return _ANY_TAG.sub("", raw).strip()


def without_html_tags(raw: str) -> str:
    """The text without the tags of HTML, stripped; any other `<` or `>` is text.

    Example:
        >>> without_html_tags("<p>Pay if income < 100 and savings > 50.</p>")
        'Pay if income < 100 and savings > 50.'
    """
    return _HTML_TAG.sub("", raw).strip()


CLEANERS: dict[str, Callable[[str], str]] = {"dapr": without_any_tag, "careful": without_html_tags}
"""Cleaners by name; `dapr` is the published text."""
