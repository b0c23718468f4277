"""The disk of a frontier that is tried without a store."""

from andante.frontier import Block
from andante.frontier.block import decode_links, encode_links


class Disk:
    """Blocks as the store would keep them."""

    def __init__(self):
        self.links, self.rows, self.fingerprints = {}, {}, []
        self.reads = 0

    def load(self, block, start, stop):
        self.reads += 1
        return decode_links(self.links[block.number], start, stop)

    def commit(self, frontier):
        changes = frontier.changes()
        for server, block, links, grades, is_new in changes.grown:
            assert is_new == (block.number not in self.rows)
            self.links[block.number] = self.links.get(block.number, b"") + encode_links(links)
            self.rows[block.number] = (server.key, grades, block.size, block.done)
        for block in changes.progressed:
            key, grades, size, _ = self.rows[block.number]
            assert size == block.size
            self.rows[block.number] = (key, grades, size, block.done)
        for block in changes.finished:
            del self.rows[block.number], self.links[block.number]
        self.fingerprints += [
            changes.fingerprints[at : at + 8] for at in range(0, len(changes.fingerprints), 8)
        ]
        frontier.committed(changes)

    def restore(self, frontier):
        rows = sorted(self.rows.items())
        frontier.restore(
            (
                (key, Block.from_disk(number, grades=grades, size=size, done=done))
                for number, (key, grades, size, done) in rows
            ),
            self.fingerprints,
        )
