def scan(
    page: bytes,
    agent: str,
    whole_anchors: bool,
    anchors_max: int,
    elements_max: int,
    value_max: int,
    /,
) -> tuple[list[bytes], list[tuple[str, bytes, int]], bytes] | None: ...
