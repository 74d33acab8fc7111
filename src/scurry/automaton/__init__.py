"""Patterns of events and the automaton that finds them, without streams, state or time of a job.

A :class:`~scurry.automaton.pattern.Pattern` says what is looked for. It is compiled into states
with transitions (:mod:`~scurry.automaton.compiler`), and :class:`~scurry.automaton.automaton.
Automaton` leads partial matches through these, event by event.
"""
