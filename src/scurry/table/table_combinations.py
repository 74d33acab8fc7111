"""What makes one table of several, or of a table and what a function makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.common.errors import MissingMethodError, ProgramError
from scurry.functions.udfs import UserDefinedFunctionWrapper
from scurry.sql import ast
from scurry.table.expression import Expression
from scurry.table.expression_core import here, name_of, to_node
from scurry.table.table_core import STAR, TableCore, given_expression

if TYPE_CHECKING:
    from scurry.table.table import Table

__all__ = ["CombiningMethods", "called_table"]


class CombiningMethods(TableCore):
    """Joins, set operations, and tables as streams of their changes."""

    def join(self, right: Table, join_predicate: Expression | None = None) -> Table:
        """Pairs of rows of two tables, those for which the predicate is true."""
        return self._joined("join", "INNER", right, join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Expression | None = None) -> Table:
        """The same, and rows of this table that have no partner, with NULLs."""
        return self._joined("left_outer_join", "LEFT", right, join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression) -> Table:
        """The same, and rows of the other table that have no partner, with NULLs."""
        return self._joined("right_outer_join", "RIGHT", right, join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression) -> Table:
        """The same, and rows of both tables that have no partner, with NULLs."""
        return self._joined("full_outer_join", "FULL", right, join_predicate)

    def _joined(self, method: str, kind: str, right: Table, predicate: Expression | None) -> Table:
        other = self._same_environment(method, right)
        both = set(self.row_type.field_names()) & set(other.row_type.field_names())
        if both:
            raise ProgramError(
                f"{method}: both tables have a column {sorted(both)[0]!r}; rename one of them with "
                "alias or rename_columns first."
            )
        condition = None if predicate is None else to_node(given_expression(method, predicate))
        if condition is None:
            kind = "CROSS" if kind == "INNER" else kind
            condition = None if kind == "CROSS" else ast.BooleanLiteral(True, span=here())
        source = ast.Join(kind, self.reference(), other.reference(), condition, span=here())
        return self._bound(ast.Select((STAR,), source, span=here()))

    def join_lateral(
        self, table_function_call: Any, join_predicate: Expression | None = None
    ) -> Table:
        """Each row beside the rows that a table function makes of it."""
        return self._lateral("join_lateral", "INNER", table_function_call, join_predicate)

    def left_outer_join_lateral(
        self, table_function_call: Any, join_predicate: Expression | None = None
    ) -> Table:
        """The same, and rows of which the function makes none, with NULLs."""
        return self._lateral("left_outer_join_lateral", "LEFT", table_function_call, join_predicate)

    def _lateral(
        self, method: str, kind: str, function: Any, predicate: Expression | None
    ) -> Table:
        if isinstance(function, UserDefinedFunctionWrapper):
            if not function.alias_names:
                raise MissingMethodError(
                    f"{method}: name the columns of {function.name}, with alias('a', 'b')."
                )
            function = self.call_with_row(function)
        table = called_table(method, function)
        condition: ast.Expression | None = ast.BooleanLiteral(True, span=here())
        if predicate is not None:
            condition = to_node(given_expression(method, predicate))
        source = ast.Join(kind, self.reference(), table, condition, span=here())
        return self._bound(ast.Select((STAR,), source, span=here()))

    def union(self, right: Table) -> Table:
        """The rows of both tables, each once."""
        return self._with("union", "UNION", False, right)

    def union_all(self, right: Table) -> Table:
        """The rows of both tables."""
        return self._with("union_all", "UNION", True, right)

    def minus(self, right: Table) -> Table:
        """The rows that the other table has not, each once."""
        return self._with("minus", "EXCEPT", False, right)

    def minus_all(self, right: Table) -> Table:
        """The rows, each as often as it is here more than in the other table."""
        return self._with("minus_all", "EXCEPT", True, right)

    def intersect(self, right: Table) -> Table:
        """The rows that both tables have, each once."""
        return self._with("intersect", "INTERSECT", False, right)

    def intersect_all(self, right: Table) -> Table:
        """The rows that both tables have, each as often as in both."""
        return self._with("intersect_all", "INTERSECT", True, right)

    def _with(self, method: str, operator: str, every: bool, right: Table) -> Table:
        other = self._same_environment(method, right)
        inputs = (self.as_query().body, other.as_query().body)
        return self._bound(ast.SetOperation(operator, every, inputs, span=here()))

    def to_changelog(self, *arguments: Expression) -> Table:
        """Each change as a row, with a first column ``op`` that has the name of its kind.

        ``descriptor("change").as_argument("op")`` gives the column another name, and
        ``map_("INSERT, UPDATE_AFTER", "C", "DELETE", "D").as_argument("op_mapping")`` the kinds
        other codes: changes of a kind without a code are left out."""
        return self._changelog("to_changelog", arguments)

    def from_changelog(self, *arguments: Expression) -> Table:
        """Each row as a change, the kind of which is in the column ``op``, which goes.

        ``descriptor("change").as_argument("op")`` names another column, and
        ``map_("C", "INSERT", "D", "DELETE").as_argument("op_mapping")`` other codes."""
        return self._changelog("from_changelog", arguments)

    def _changelog(self, method: str, arguments: tuple[Expression, ...]) -> Table:
        given = [given_expression(method, one).node for one in arguments]
        for one in given:
            if not isinstance(one, ast.NamedArgument):
                raise ProgramError(
                    f"{method} takes arguments by name, such as "
                    "descriptor('op').as_argument('op'), and one of them has no name."
                )
        table = ast.NamedArgument(
            ast.Identifier("input", span=here()),
            ast.TableArgument(self.as_query(), span=here()),
            span=here(),
        )
        call = ast.FunctionCall(name_of(method.upper()), (table, *given), span=here())
        source = ast.TableFunctionRef(call, span=here())
        return self._bound(ast.Select((STAR,), source, span=here()))


def called_table(method: str, function: Any) -> ast.Aliased:
    """A call of a table function as it stands after FROM, with an alias that nobody else has."""
    node = function.node if isinstance(function, Expression) else None
    if not isinstance(node, ast.FunctionCall):
        raise ProgramError(f"{method} takes a call of a table function, got {function}.")
    relation = ast.TableFunctionRef(node, lateral=True, span=here())
    columns = tuple(ast.Identifier(name, span=here()) for name in function.names)
    return ast.Aliased(relation, ast.Identifier("T$function", span=here()), columns, span=here())
