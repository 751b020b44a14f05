"""redactkit: take the people out of tutoring transcripts and leave the mathematics in.

The public face, in full::

    import redactkit as rk

    turns = rk.read("lesson.csv")                     # -> turns
    spans = rk.Cascade.load("offline").decide(turns)  # -> spans with decision, p_redact, route, reason
    clean = rk.replace(turns, spans, how="tag")       # -> turns
    report = rk.evaluate(gold, spans, turns)          # -> tidy metrics

Importing the package loads neither torch nor transformers: heavy imports live inside the functions that need them.
"""

from redactkit.cascade import Cascade
from redactkit.formats import read, write
from redactkit.replace import replace
from redactkit.scoring import evaluate
from redactkit.tables import RedactKitError

__version__ = "0.1.0"
__all__ = ["Cascade", "RedactKitError", "__version__", "evaluate", "read", "replace", "write"]
