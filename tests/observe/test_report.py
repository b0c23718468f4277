import re
from collections import Counter

from andante.observe.report import summary
from andante.observe.stats import Stats


def test_the_summary_adds_up(tmp_path):
    output = tmp_path / "pages.jsonl"
    output.write_bytes(bytes(1500))
    stats = Stats(
        fetched=Counter({"200": 100, "404": 3}),
        redirected=7,
        failed=Counter({"reset": 2, "dns": 1}),
        excluded=Counter(robots=4),
        seconds=10.0,
        bytes=5_000_000,
        requests=120,
        connections=5,
    )
    text = summary(stats, known=130, queued=12, servers=2, outputs=[output])
    assert text.startswith(
        "100 pages, 5.0 MB, in 10 s (10.0 pages/s)\n120 requests on 5 connections to 2 servers\n"
    )
    assert text.endswith(f"output: {output} (1.5 kB)")
    known, *states = (int(number) for number in re.findall(r"^ *(\d+) ", text, re.MULTILINE)[2:])
    assert known == 130 == sum(states)
    assert "        1 in hand when it stopped" in text
