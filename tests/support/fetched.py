"""Pages for tests: generated ones that love trouble, and the real ones of Debian's documentation packages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import strategies as st

SITES = {
    "postgresql": Path("/usr/share/doc/postgresql-doc-15/html"),
    "python": Path("/usr/share/doc/python3.11/html"),
    "openjdk": Path("/usr/share/doc/openjdk-17-jre-headless/api"),
}


@cache
def site_pages(name: str, *, every: int = 1) -> list[Path]:
    """Return every n-th page of an installed documentation package, in a fixed order; none where it is missing."""
    return sorted(SITES[name].rglob("*.html"))[::every]


_text = st.sampled_from(
    [
        "x",
        " ",
        "\n",
        "\r\n",
        "é",
        "\x00",
        ">",
        "<",
        "<<",
        "<3",
        "a < b",
        "<!",
        "<?",
        "</",
        "</>",
        "<a",
        "<a ",
        "<![CDATA[",
        "]]>",
        "-->",
        "->",
        '"',
        "'",
        "=",
        "&",
        "&amp;",
        '&lt;a href="t">',
        ' href="t" ',
        "/",
    ]
)
_name = st.sampled_from(
    ["a"] * 12
    + [
        "A",
        "area",
        "link",
        "base",
        "meta",
        "iframe",
        "frame",
        "frameset",
        "title",
        "textarea",
        "script",
        "SCRIPT",
        "style",
    ]
    + [
        "noscript",
        "xmp",
        "plaintext",
        "noembed",
        "noframes",
        "template",
        "svg",
        "math",
        "select",
        "option",
        "table",
        "tr",
        "td",
    ]
    + [
        "colgroup",
        "caption",
        "p",
        "div",
        "b",
        "font",
        "nobr",
        "form",
        "button",
        "object",
        "img",
        "path",
        "g",
        "foreignObject",
    ]
    + ["head", "body", "html", "abbr", "li", "custom-el"]
)
_space = st.sampled_from([" "] * 8 + ["\n", "\t", "  ", "/", " / ", "", "\f"])
_attribute_name = st.sampled_from(
    ["href"] * 6
    + [
        "HREF",
        "data-href",
        "xlink:href",
        "hreflang",
        "src",
        "rel",
        "class",
        "title",
        "name",
        "content",
    ]
    + ["http-equiv", 'x"y', "q'", "=w", "<a", "hr\0ef", "é"]
)
_value = st.sampled_from(
    [
        "1",
        "2",
        "x y",
        "",
        "#f",
        "a#b",
        "?a=1&copy=2",
        "&amp;",
        "&#x26;q",
        "&#38;",
        "&lt",
        "&notit;",
        "&bogus;",
        "&",
        "&#",
        "a&",
        "&#0;",
        "&#x80;",
        ">",
        "<",
        "a>b",
        "<a href=q>",
        " href=",
        'href="',
        "=",
        "'",
        '"',
        "/",
        "é",
        "\x00",
        "\r",
        "next",
        "nofollow",
        "noindex",
        "0;url=r",
        "refresh",
        "robots",
    ]
)
_assignment = st.sampled_from(['="{}"'] * 6 + ["='{}'", "={}", ' = "{}"', "", '="{}', "='{}"])


@st.composite
def _attribute(draw: st.DrawFn) -> str:
    return draw(_space) + draw(_attribute_name) + draw(_assignment).format(draw(_value))


@st.composite
def _tag(draw: st.DrawFn) -> str:
    attributes = "".join(draw(st.lists(_attribute(), max_size=3)))
    end = draw(st.sampled_from([">"] * 8 + ["/>", " >", "\n>", ""]))
    return draw(st.sampled_from(["<", "<", "</"])) + draw(_name) + attributes + end


_comment = st.builds(
    lambda parts, end: "<!--" + "".join(parts) + end,
    st.lists(
        st.sampled_from(
            [
                "x",
                " ",
                "-",
                "--",
                ">",
                "->",
                "!",
                "<!--",
                '<a href="c">',
                "<link rel=next href=1>",
                ' href="z"',
            ]
        ),
        max_size=3,
    ),
    st.sampled_from(["-->"] * 4 + ["--!>", "->", ">", ""]),
)
_raw_text = st.builds(
    lambda name, parts, end: f"<{name}>{''.join(parts)}</{name}{end}",
    st.sampled_from(
        ["script", "style", "title", "textarea", "SCRIPT", "svg", "template", "noscript"]
    ),
    st.lists(
        st.sampled_from(
            [
                "x",
                "<",
                "</",
                "<!--",
                "-->",
                "<script>",
                "</script",
                "</style>",
                '<a href="r">',
                ' href="r"',
                "i<n",
            ]
        )
        | st.sampled_from(
            [
                "</div>",
                '<path d="x"/>',
                "<g>",
                "</g>",
                "<title>t</title>",
                '<link rel="next" href="l">',
            ]
        ),
        max_size=3,
    ),
    st.sampled_from([">"] * 6 + [" >", "/>", ""]),
)
_plain_body = st.sampled_from(
    [
        "text",
        " ",
        "&amp;",
        '<a href="{}">',
        '<a class="b c" href="{}">',
        '<a\nhref="{}" title="t>">',
        "</a>",
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<table><tr><td>",
        "</table>",
        "<!-- c -->",
        '<svg viewBox="0 0"><path d="M"/><title>t</title></svg>',
        "<br/>",
        "a < b",
        '<img alt="<b>">',
        "<script>if (a<b) c()</script>",
        "<style>p{color:red}</style>",
        "<textarea>x</textarea>",
        '<a name="n">',
        "<div hidden>",
        "<noscript>",
    ]
)
_plain_head = st.sampled_from(
    [
        "<title>t &amp; u</title>",
        '<meta charset="utf-8">',
        '<meta name="robots" content="noindex, nofollow">',
        "\n",
        "<!-- <b> -->",
        '<link rel="next" href="{}"/>',
        '<link href="{}" rel=canonical>',
        '<link rel="stylesheet" href="s.css">',
        '<base href="/b/">',
        '<meta http-equiv="refresh" content="3; URL=r">',
        "<script src='s'></script>",
        '<noscript><link rel="next" href="{}"></noscript>',
    ]
)


@st.composite
def _filled(draw: st.DrawFn, pieces: st.SearchStrategy[str], size: int) -> str:
    values = st.sampled_from(
        ["1", "2/x", "?a=1&amp;b=2", "?a&copy=2", "#f", "p#f", "&#109;", "a&", "é", ""]
    )
    return "".join(
        piece.replace("{}", draw(values)) for piece in draw(st.lists(pieces, max_size=size))
    )


@st.composite
def pages(draw: st.DrawFn) -> str:
    """Draw a page: a plain frame with more or less trouble in it."""
    trouble = st.one_of(_text, _tag(), _tag(), _comment, _raw_text)
    start = draw(
        st.sampled_from(
            [
                "",
                "<!DOCTYPE html>",
                '<?xml version="1.0"?>',
                '<!doctype a ">" b>',
                "<!DOCTYPE <link href>",
            ]
        )
    )
    head = draw(_filled(_plain_head, 4)) + "".join(
        draw(st.lists(trouble, max_size=draw(st.sampled_from([0, 0, 0, 1]))))
    )
    body = draw(_filled(_plain_body, 6))
    more = "".join(draw(st.lists(trouble, max_size=draw(st.sampled_from([0, 0, 1, 6])))))
    end = draw(st.sampled_from(["</body></html>\n", "</p>", "<!-- e -->", ""]))
    return f"{start}<html><head>{head}</head><body>{body}{more}{end}"
