"""Who needs the old rows of updates: asked from the top down, as Flink's planner does.

An operator that replaces a row by its key does without them; one that adds rows up must take the
old one out first. A relation that several others read sends them if one of these needs them.
"""

from __future__ import annotations

from scurry.common.types import RowKind
from scurry.planner import algebra, physical
from scurry.planner.algebra import Node
from scurry.planner.rank_strategies import row_key_of

#: nodes that hand rows on as they are, so what is needed above is needed below
_HANDING_ON = (algebra.Project, algebra.Watermark, algebra.Union, algebra.WindowTable)


class Needs:
    """The answer for every node below some roots."""

    def __init__(self) -> None:
        self._needed: dict[Node, bool] = {}

    def require(self, node: Node, needed: bool) -> None:
        """Notes that somebody reads ``node`` and needs old rows, or does not."""
        known = self._needed.get(node)
        if known is not None and (known or not needed):
            return
        self._needed[node] = needed
        for source in node.inputs:
            self.require(source, self._of_input(node, source, needed))

    def _of_input(self, node: Node, source: Node, needed: bool) -> bool:
        if isinstance(node, _HANDING_ON):
            return needed
        if isinstance(node, algebra.ToChangelog):
            return node.codes[RowKind.UPDATE_BEFORE.value] is not None
        if isinstance(node, physical.BoundedRank):
            return True
        if isinstance(node, algebra.Rank):
            return row_key_of(source, node.partition, node.order) is None
        return not (isinstance(node, physical.VersionedJoin) and source is node.right)

    def update_before(self, node: Node) -> bool:
        """Whether old rows of updates of ``node`` are needed."""
        return self._needed.get(node, True)
