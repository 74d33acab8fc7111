"""The parser's place in the tokens of a text, and what all parts of the grammar ask of it.

Recursive descent without going back: each method looks at the next token, or a few of them, and
decides. What was looked for at a token is remembered until the token is taken, so an error can say
what could have stood there.

The depth of nesting is bounded: a text of ten thousand parentheses is refused with a message and
does not overflow the stack. Chains of operators are loops here, but deep trees for whoever walks
through them later, so the depth of the finished tree is bounded as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from scurry.common.spans import SourceText, Span
from scurry.sql.ast.node import Expression, Identifier, Name, Node, QueryNode
from scurry.sql.errors import SqlParserError
from scurry.sql.keywords import RESERVED
from scurry.sql.lexer import Kind, Token, tokenize

#: how many expressions, types or queries may stand within each other
MAX_NESTING = 100
#: how many nodes may be on the way from the root of a tree to a leaf
MAX_DEPTH = 200

_SIMPLER = "Divide the statement: put its inner parts into views or a WITH clause."

T = TypeVar("T")


class Cursor(ABC):
    """A place among tokens. Subclasses add the grammar."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self._tokens = tokenize(source)
        self._index = 0
        self._depth = 0
        self._looked_for: list[str] = []
        self.token = self._tokens[0]
        #: whether the text is a name and nothing else, so that reserved words can be names
        self.only_names = False

    @abstractmethod
    def expression(self, least: int = 0) -> Expression:
        """The expression at the next token; only operators that bind at least so tightly."""

    @abstractmethod
    def query(self) -> QueryNode:
        """The query at the next token."""

    # --- looking ------------------------------------------------------------------------------

    @property
    def start(self) -> int:
        """The offset at which the next token begins."""
        return self.token.start

    def peek(self, ahead: int = 1) -> Token:
        """The token ``ahead`` places after the next one; beyond the end, the end."""
        return self._tokens[min(self._index + ahead, len(self._tokens) - 1)]

    def at(self, *words: str) -> bool:
        """Whether the next token is one of these keywords."""
        self._looked_for.extend(words)
        return self.token.word in words

    def at_words(self, *words: str) -> bool:
        """Whether the next tokens are these keywords, one after the other."""
        self._looked_for.append(" ".join(words))
        return all(self.peek(n).word == word for n, word in enumerate(words))

    def at_symbol(self, *symbols: str) -> bool:
        """Whether the next token is one of these symbols."""
        self._looked_for.extend(symbols)
        return self.token.kind is Kind.SYMBOL and self.token.text in symbols

    def symbol_ahead(self, *symbols: str, ahead: int = 1) -> bool:
        """Whether the token ``ahead`` places after the next one is one of these symbols."""
        token = self.peek(ahead)
        return token.kind is Kind.SYMBOL and token.text in symbols

    def at_name(self) -> bool:
        """Whether the next token can be a name: reserved words cannot, except in a path."""
        kind = self.token.kind
        free = self.only_names or self.token.word not in RESERVED
        return kind is Kind.QUOTED or (kind is Kind.WORD and free)

    def at_end(self) -> bool:
        """Whether there are no more tokens."""
        return self.token.kind is Kind.END

    # --- taking -------------------------------------------------------------------------------

    def take(self) -> Token:
        """The next token, which is then behind us."""
        token = self.token
        self._looked_for.clear()
        self._index = min(self._index + 1, len(self._tokens) - 1)
        self.token = self._tokens[self._index]
        return token

    def accept(self, *words: str) -> bool:
        """Takes these keywords if they come next, one after the other."""
        if not self.at_words(*words):
            return False
        for _ in words:
            self.take()
        return True

    def accept_any(self, *words: str) -> str:
        """Takes the next token if it is one of these keywords, and says which; else nothing."""
        return self.take().word if self.at(*words) else ""

    def accept_symbol(self, symbol: str) -> bool:
        """Takes the next token if it is this symbol."""
        if not self.at_symbol(symbol):
            return False
        self.take()
        return True

    def expect(self, *words: str) -> None:
        """Takes these keywords, which must come next."""
        for word in words:
            if not self.accept(word):
                raise self.unexpected()

    def expect_any(self, *words: str) -> str:
        """Takes one of these keywords, which must come next, and says which."""
        found = self.accept_any(*words)
        if not found:
            raise self.unexpected()
        return found

    def expect_symbol(self, symbol: str) -> None:
        """Takes this symbol, which must come next."""
        if not self.accept_symbol(symbol):
            raise self.unexpected()

    # --- names and constants ------------------------------------------------------------------

    def identifier(self) -> Identifier:
        """A single name."""
        if not self.at_name():
            raise self._no_name()
        token = self.take()
        return Identifier(token.text, span=self._span(token))

    def name(self) -> Name:
        """A name of one or more parts."""
        parts = [self.identifier()]
        while self.symbol_ahead(".", ahead=0) and not self.symbol_ahead("*"):
            self.take()
            parts.append(self.identifier())
        return Name(tuple(parts), span=self.since(parts[0].span.start))

    def string(self) -> str:
        """The value of a string that must come next."""
        if self.token.kind is not Kind.STRING:
            raise self.unexpected("a string in '...'")
        return self.take().text

    def integer(self) -> int:
        """A whole number that must come next."""
        if self.token.kind is not Kind.NUMBER or not self.token.text.isdigit():
            raise self.unexpected("a whole number")
        token = self.take()
        if len(token.text) > 18:
            raise SqlParserError("The number has too many digits", self._span(token))
        return int(token.text)

    def listed(self, one: Callable[[], T]) -> tuple[T, ...]:
        """One or more, with commas between them."""
        found = [one()]
        while self.accept_symbol(","):
            found.append(one())
        return tuple(found)

    def in_parentheses(self, one: Callable[[], T]) -> tuple[T, ...]:
        """One or more in parentheses, with commas between them."""
        self.expect_symbol("(")
        found = self.listed(one)
        self.expect_symbol(")")
        return found

    def identifiers(self) -> tuple[Identifier, ...]:
        """Single names in parentheses."""
        return self.in_parentheses(self.identifier)

    # --- spans, depth, errors -----------------------------------------------------------------

    def since(self, start: int) -> Span:
        """From an offset up to the token taken last."""
        return Span(self.source, start, max(start, self._tokens[max(self._index - 1, 0)].end))

    def enter(self) -> None:
        """Called before something that may contain its like; :meth:`leave` is called after it."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            message = f"The statement is nested more than {MAX_NESTING} levels deep"
            raise SqlParserError(message, self._span(self.token), advice=_SIMPLER)

    def leave(self) -> None:
        """Called after what :meth:`enter` was called before."""
        self._depth -= 1

    def bounded(self, tree: Node) -> None:
        """Refuses a tree that is too deep to be walked through safely."""
        waiting: list[tuple[Node, int]] = [(tree, 1)]
        while waiting:
            node, depth = waiting.pop()
            if depth > MAX_DEPTH:
                message = f"The statement has more than {MAX_DEPTH} parts within each other"
                raise SqlParserError(message, node.span, advice=_SIMPLER)
            waiting.extend((child, depth + 1) for child in node.children())

    def unexpected(self, *expected: str) -> SqlParserError:
        """The error for a token that cannot stand here."""
        could = tuple(dict.fromkeys(expected or self._looked_for))
        found = _described(self.token)
        if not could:
            return SqlParserError(f"{found} cannot stand here", self._span(self.token))
        return SqlParserError(
            f"Expected {_either(could)}, found {found}", self._span(self.token), could
        )

    def _no_name(self) -> SqlParserError:
        if self.token.kind is not Kind.WORD:
            return self.unexpected("a name")
        word = self.token.text
        return SqlParserError(
            f"Expected a name, found the reserved word {word}",
            self._span(self.token),
            ("a name",),
            f"If {word} is meant as a name, write it in backticks: `{word}`.",
        )

    def _span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)


def _described(token: Token) -> str:
    if token.kind is Kind.END:
        return str(token.kind.value)
    if token.kind is Kind.STRING:
        return f"the string '{token.text[:30]}'"
    return token.text[:60]


def _either(words: tuple[str, ...]) -> str:
    shown = words if len(words) <= 9 else (*words[:8], "something else")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
