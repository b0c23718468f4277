"""How nodes divide the total rate."""

from types import SimpleNamespace

import pytest

from andante.cluster.balance import Load
from andante.cluster.exchange import Node
from andante.crawl.pulse import Beat, Shares
from andante.crawl.settings import Settings
from andante.flow import Pace

ME, OTHER, NEW = 1, 2, 3


@pytest.fixture
def shares():
    """Of a node that may send nothing yet, of 120 pages a minute."""
    settings = Settings(total_rate=120.0)
    state = SimpleNamespace(settings=settings, total=Pace(set_point=120.0), now=lambda: 0.0)
    return Shares(state)


def divide(shares, *, me=ME, settled=True, **knows):
    """Divide among nodes: ``e2=(1, 2)`` says that epoch 2 is there, and knows of 1 and 2."""
    seen = {int(name[1:]): epochs for name, epochs in knows.items()}
    nodes = {epoch: Node(epoch, str(epoch), 1, b"") for epoch in (me, *seen)}
    beats = {epoch: Beat(Load(0), seen=epochs) for epoch, epochs in seen.items()}
    shares.divide_rate(me, nodes, beats, settled=settled)
    return shares._state.total.set_point if shares.is_known else 0.0


def test_a_node_takes_its_part_when_the_others_have_made_room(shares):
    assert divide(shares, e2=(OTHER,)) == 0
    assert divide(shares, e2=(ME, OTHER)) == 60


def test_it_makes_room_at_once_and_takes_it_back_when_all_others_know(shares):
    assert divide(shares) == 120
    assert divide(shares, e2=()) == 60
    assert divide(shares, e2=(ME, OTHER), e3=()) == 40
    assert divide(shares, e3=()) == 40
    assert divide(shares, e3=(ME, NEW)) == 60


def test_a_node_that_was_buried_has_no_part_until_the_others_know_that_it_lives(shares):
    """They have divided its part among themselves."""
    assert divide(shares, e2=(ME, OTHER)) == 60
    assert divide(shares, me=NEW, e2=(OTHER,)) == 0
    assert divide(shares, me=NEW, e2=(OTHER, NEW)) == 60


def test_where_the_store_has_lost_its_data_nobody_takes_the_parts_of_those_who_have_not_spoken(
    shares,
):
    assert divide(shares, e2=(ME, OTHER)) == 60
    assert divide(shares, me=NEW, settled=False) == 60
    assert divide(shares, me=NEW, settled=True) == 120
