"""Links by an independent route: the whole tree by Lexbor, resolved by ada. Slow, simple, and trusted."""

from __future__ import annotations

import re

import ada_url
from selectolax.lexbor import LexborHTMLParser

_ATTRIBUTE = {"a": "href", "area": "href", "link": "href", "iframe": "src", "frame": "src"}
_RELATIONS = {"next", "canonical", "alternate"}


def reference_hrefs(text: str) -> tuple[list[str], str | None]:
    """Return the references of a page in tree order, with repetitions and fragments, and its base."""
    found: list[str] = []
    base = None
    root = LexborHTMLParser(text).root
    for node in root.traverse() if root else ():
        attributes = node.attributes
        name = _ATTRIBUTE.get(node.tag)
        if node.tag == "base" and base is None and "href" in attributes:
            base = attributes["href"] or ""
        elif node.tag == "meta" and (attributes.get("http-equiv") or "").lower() == "refresh":
            match = re.match(
                r"\s*\d[\d.]*\s*[;,]?\s*url\s*=\s*[\"']?([^\"']*)",
                attributes.get("content") or "",
                re.IGNORECASE,
            )
            if match:
                found.append(match[1])
        elif name is not None and name in attributes:
            value = attributes[name] or ""
            if node.tag == "link" and _RELATIONS.isdisjoint(
                (attributes.get("rel") or "").lower().split()
            ):
                continue
            if node.tag in {"iframe", "frame"} and not value:
                continue
            found.append(value)
    return found, base


def resolve(hrefs: list[str], url: str, base: str | None) -> list[str]:
    """Return canonical URLs without fragments, each once, in order; what is no URL is left out."""
    if base is not None:
        joined = _join(url, base)
        url = joined or url
    joined_urls = (_join(url, href) for href in hrefs)
    return list(dict.fromkeys(link for link in joined_urls if link))


def reference_links(body: bytes, url: str, encoding: str) -> list[str]:
    """Return the links of a page in tree order: canonical URLs without fragments, each once."""
    hrefs, base = reference_hrefs(body.decode(encoding, "replace").removeprefix("\ufeff"))
    return resolve(hrefs, url, base)


def _join(url: str, href: str) -> str:
    try:
        parsed = ada_url.URL(href, url)
    except ValueError:
        return ""
    parsed.hash = ""
    return parsed.href
