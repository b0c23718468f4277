import pytest

from andante.sim.machine import Machine, MachineTraits


def test_the_processor_takes_one_page_after_another():
    machine = Machine(MachineTraits(cpu_per_page=0.5, cpu_per_open=0.25))
    assert [machine.receives(0.0, 100, ends=True) for _ in range(3)] == [0.5, 1.0, 1.5]
    assert machine.opens(1.0) == 1.75
    assert machine.receives(9.0, 100, ends=True) == 9.5
    assert machine.busy == 2.25


def test_each_open_connection_costs():
    machine = Machine(MachineTraits(cpu_per_page=1.0, cpu_per_connection=0.01))
    machine.connections = 50
    assert machine.receives(0.0, 1, ends=True) == 1.5


def test_bytes_pass_the_downlink_first_and_only_a_whole_page_is_worked_on():
    machine = Machine(MachineTraits(cpu_per_page=0.5, downlink=100.0))
    assert machine.receives(0.0, 200, ends=False) == 2.0
    assert machine.receives(0.0, 100, ends=True) == 3.5
    assert machine.busy == 0.5


def test_without_limits_it_costs_nothing():
    assert MachineTraits().is_unlimited
    assert not MachineTraits(cpu_per_open=1e-3).is_unlimited
    with pytest.raises(ValueError, match="cpu_per_page: -1 is out of range: it must be at least 0"):
        MachineTraits(cpu_per_page=-1.0)
