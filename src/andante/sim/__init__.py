"""Simulated webs: what the engine, or a part of it, would do there."""
