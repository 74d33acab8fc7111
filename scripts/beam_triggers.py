"""Random transcripts of composed triggers, run by Apache Beam, for `tests/transcripts`.

A transcript is a window, a trigger, an accumulation mode and steps: an element with a value and a
timestamp, a move of the watermark, or of the clock. What Beam's trigger driver emits after each
step is written beside it. Only what the two models share is drawn: timestamps lie so that sessions
never merely touch (Flink merges such, Beam does not), lateness reaches further than the input, and
what ends a trigger fires once. Some things are left out because the driver of Beam's Python does
otherwise than Beam's model says: it takes any wake-up by the clock for that of every delay, so a
delay stands alone or first in line, and not on sessions; it judges by the clock whether a pane that
the clock fires is early; it numbers the panes of a session anew after each merge; and it does not
see the end of a window in an AfterWatermark whose turn in AfterEach comes without an element. Two
differences are deliberate, and told in `docs/concepts/windows.md`: panes of nothing, and sessions
that merge with one whose trigger has finished. Transcripts with either are skipped.

Usage, with a Python that has apache-beam:
    python scripts/beam_triggers.py COUNT [SEED] > tests/transcripts/beam.json
"""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
from typing import Any

LATENESS = 1000


def once(rng: random.Random) -> list[Any]:
    """A condition that fires a single time."""
    kind = rng.choice(["AfterCount", "AfterCount", "AfterFirst", "AfterAll"])
    if kind == "AfterCount":
        return [kind, rng.randint(1, 4)]
    return [kind, ["AfterCount", rng.randint(1, 4)], ["AfterCount", rng.randint(1, 4)]]


def condition(rng: random.Random, depth: int, clock: bool) -> list[Any]:
    """A trigger as nested lists: its name and its parts."""
    kind = rng.choice(["once", "delay", "AfterEach", "Repeatedly", "OrFinally"][: 2 + 3 * depth])
    if kind == "delay" and not clock:
        kind = "once"
    if kind == "once":
        return once(rng)
    if kind == "delay":
        return ["AfterProcessingTime", rng.randint(1, 6)]
    if kind == "OrFinally":
        return [kind, ["Repeatedly", once(rng)], once(rng)]
    if kind == "Repeatedly":
        return [kind, condition(rng, 0, clock)]
    return [kind, condition(rng, 0, clock), once(rng)]


def trigger(rng: random.Random, clock: bool) -> list[Any]:
    """A whole trigger, with delays or without; half of them wait for the watermark."""
    if rng.random() < 0.5:
        return condition(rng, 1, clock)
    early = condition(rng, 0, clock) if rng.random() < 0.6 else None
    late = once(rng) if rng.random() < 0.6 else None
    whole = ["AfterWatermark", early, late]
    if rng.random() < 0.3:
        whole = [rng.choice(["AfterEach", "OrFinally"]), whole, once(rng)]
    return whole


def steps(rng: random.Random) -> list[list[Any]]:
    """Elements, watermarks and clocks; both clocks only go forward."""
    mark, now, made = -1, 0, []
    for number in range(rng.randint(3, 12)):
        kind = rng.choice(["add", "add", "add", "watermark", "clock"])
        if kind == "add":
            made.append(["add", number, rng.randrange(0, 30, 2)])
        elif kind == "watermark":
            mark += rng.randint(1, 12)
            made.append(["watermark", mark])
        else:
            now += rng.randint(1, 5)
            made.append(["clock", now])
    return made


def draw(seed: int) -> dict[str, Any]:
    """The transcript of a seed, without what comes out."""
    rng = random.Random(seed)
    window = rng.choice([["tumbling", 10], ["sliding", 20, 10], ["session", 5]])
    return {
        "seed": seed,
        "window": window,
        "trigger": trigger(rng, window[0] != "session"),
        "mode": rng.choice(["ACCUMULATING", "DISCARDING"]),
        "steps": steps(rng),
    }


class Clock:
    """Processing time, as the transcript has it."""

    now = 0

    def time(self) -> int:
        return self.now


class BeamRun:
    """One key's windows in Beam's trigger driver."""

    def __init__(self, transcript: dict[str, Any]) -> None:
        from apache_beam.transforms import core, trigger, window

        kind, *sizes = transcript["window"]
        classes = {
            "tumbling": window.FixedWindows,
            "sliding": window.SlidingWindows,
            "session": window.Sessions,
        }
        self.assigner = classes[kind](*sizes)
        self.clock = Clock()
        self.watermark = -1
        self.merging = kind == "session"
        self.finished = self.empty = False
        windowing = core.Windowing(
            self.assigner,
            self._built(transcript["trigger"], trigger),
            getattr(trigger.AccumulationMode, transcript["mode"]),
            allowed_lateness=LATENESS,
        )
        self.driver = trigger.create_trigger_driver(windowing, clock=self.clock)
        self.state = trigger.InMemoryUnmergedState()

    def _built(self, form: Any, module: Any) -> Any:
        if not isinstance(form, list):
            return form
        name = {"AfterFirst": "AfterAny"}.get(form[0], form[0])
        return getattr(module, name)(*(self._built(part, module) for part in form[1:]))

    def step(self, action: str, *given: int) -> list[str]:
        """What is emitted, as sorted text."""
        if action == "add":
            panes = self._added(*given)
        else:
            if action == "watermark":
                self.watermark = given[0]
            else:
                self.clock.now = given[0]
            panes = self._timers()
        self.finished |= any(pane.pane_info.is_last for pane in panes)
        self.empty |= not all(pane.value for pane in panes)
        return sorted(map(_shown, panes))

    def shared(self) -> bool:
        """Whether the two models agree on what happened so far."""
        return not self.empty and not (self.merging and self.finished)

    def _added(self, value: int, stamp: int) -> list[Any]:
        from apache_beam.transforms.window import WindowFn
        from apache_beam.utils.windowed_value import WindowedValue

        windows = self.assigner.assign(WindowFn.AssignContext(stamp, value))
        element = WindowedValue(value, stamp, windows)
        mark = self.watermark + 1
        return list(self.driver.process_elements(self.state, [element], mark, mark))

    def _timers(self) -> list[Any]:
        made: list[Any] = []
        mark = self.watermark + 1
        while True:
            due, _ = self.state.get_timers(
                clear=True, watermark=mark, processing_time=self.clock.now
            )
            if not due:
                return made
            for window, (name, domain, _stamp, *_rest) in due:
                at = self.clock.now if domain == "REAL_TIME" else mark
                made += self.driver.process_timer(window, name, domain, at, self.state, mark)


def _shown(pane: Any) -> str:
    [window] = pane.windows
    timing = {0: "early", 1: "on time", 2: "late"}[pane.pane_info.timing]
    values = " ".join(map(str, sorted(pane.value)))
    bounds = f"{int(window.start)}-{int(window.end)}"
    return f"{bounds}: {values} {timing}/{pane.pane_info.index}"


def comparable(transcript: dict[str, Any], found: list[list[str]]) -> list[list[str]]:
    """The panes of each step without what Beam's driver tells otherwise than its model."""
    made = []
    for step, panes in zip(transcript["steps"], found, strict=True):
        cut = [pane.rpartition("/")[0] for pane in panes]
        if transcript["window"][0] != "session":
            cut = panes
        if step[0] == "clock":
            cut = [re.sub(" (early|on time|late)(?=/|$)", "", pane) for pane in cut]
        made.append(cut)
    return made


def main(arguments: list[str]) -> int:
    """Write transcripts as JSON."""
    count = int(arguments[0])
    first = int(arguments[1]) if len(arguments) > 1 else 0
    transcripts = []
    for seed in itertools.count(first):
        if len(transcripts) == count:
            break
        transcript = draw(seed)
        run = BeamRun(transcript)
        found = [run.step(*step) for step in transcript["steps"]]
        if run.shared() and any(found):
            transcript["expect"] = comparable(transcript, found)
            transcripts.append(transcript)
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in transcripts)
    print(f"[\n{lines}\n]")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
