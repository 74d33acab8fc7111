"""Card fraud in a stream of payments: the application behind ``scurry demo``.

Criminals try a stolen card with a charge nobody notices, then go for real money. The job looks for
a charge below 1.00 that is followed, on the same card and within a minute of event time, by one
above 500.00. Payments arrive out of order; the few that come after the watermark has passed them
are set aside, not judged. Next to that the job adds up ten minutes at a time per merchant category.

Everything is generated, so the right answer can be computed by other means: when the job has
ended its results are compared with those of plain loops over the same payments.

============================== =========================================================
:mod:`~.payments`              what a payment is, and the source that generates them
:mod:`~.detector`              the function that judges: keyed state, timers, side outputs
:mod:`~.job`                   the stream program, and the sinks its results end in
:mod:`~.expected`              the same results by brute force
:mod:`~.screen`                progress while it runs, tables at the end
============================== =========================================================
"""

from __future__ import annotations

from scurry.apps.card_fraud.demo import main

__all__ = ["main"]
