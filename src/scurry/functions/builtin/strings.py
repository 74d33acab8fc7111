"""Texts. Positions count characters (code points), from 1."""

from __future__ import annotations

from collections.abc import Sequence

from scurry.common.data_types import (
    MAX_LENGTH,
    CharacterStringType,
    CharType,
    DataType,
    DataTypes,
    VarCharType,
    common_type,
)
from scurry.functions.builtin.entry import BuiltIn
from scurry.functions.builtin.signatures import (
    Result,
    Signature,
    any_nullable,
    nullable,
    signature,
)
from scurry.functions.expressions import Expression

__all__ = ["STRINGS"]

_STRING = DataTypes.STRING()
_INT = DataTypes.INT()
_BOOLEAN = DataTypes.BOOLEAN()
_BYTES = DataTypes.BYTES()
_STRINGS = DataTypes.ARRAY(_STRING)


def _length(data_type: DataType) -> int:
    assert isinstance(data_type, CharacterStringType)
    return data_type.length


def _same(operands: Sequence[Expression]) -> DataType:
    return operands[0].type.with_nullability(any_nullable(operands))


def _varying(operands: Sequence[Expression]) -> DataType:
    """A text of at most the length of the first argument."""
    return VarCharType(_length(operands[0].type), any_nullable(operands))


def _part(operands: Sequence[Expression]) -> DataType:
    return VarCharType(_length(operands[0].type))


def _trimmed(operands: Sequence[Expression]) -> DataType:
    """TRIM(where, characters, text) has the length of the text."""
    return VarCharType(_length(operands[-1].type), any_nullable(operands))


def _overlaid(operands: Sequence[Expression]) -> DataType:
    longest = sum(_length(operand.type) for operand in operands[:2])
    return VarCharType(min(longest, MAX_LENGTH), any_nullable(operands))


def _joined(operands: Sequence[Expression]) -> DataType:
    types = [operand.type for operand in operands]
    length = min(sum(map(_length, types)), MAX_LENGTH)
    kept = any_nullable(operands)
    fixed_length = all(isinstance(t, CharType) for t in types)
    return CharType(length, kept) if fixed_length else VarCharType(length, kept)


def _first_nullable(result: DataType) -> Result:
    return lambda operands: result.with_nullability(operands[0].type.is_nullable)


def _choice(operands: Sequence[Expression]) -> DataType:
    found = common_type([operand.type for operand in operands[1:]])
    return (found or _STRING).nullable()


def _text(
    name: str, syntax: str, says: str, *ways: Signature, fails: bool = False, also: str = ""
) -> BuiltIn:
    aliases = tuple(also.split())
    return BuiltIn(name, "string", syntax, says, tuple(ways), aliases=aliases, fails=fails)


_CONCATENATION = (
    BuiltIn(
        "||",
        "string",
        "a || b",
        "a followed by b",
        (
            signature("string, string", _joined),
            signature(
                "binary, binary", lambda operands: _BYTES.with_nullability(any_nullable(operands))
            ),
        ),
    ),
    _text(
        "CONCAT",
        "CONCAT(a, b, ...)",
        "the texts one after the other; NULL if one is",
        signature("string, ...", _STRING),
    ),
    _text(
        "CONCAT_WS",
        "CONCAT_WS(separator, a, b, ...)",
        "the texts that are not NULL, with the separator between them",
        signature("string, string, ...", _STRING),
    ),
)

_PARTS = (
    _text(
        "SUBSTRING",
        "SUBSTRING(a FROM start [FOR length])",
        "the part of a from a position on; a negative one counts from the end",
        signature("string, int [, int]", _part),
        also="SUBSTR",
    ),
    _text("LEFT", "LEFT(a, count)", "the first characters of a", signature("string, int", _part)),
    _text("RIGHT", "RIGHT(a, count)", "the last characters of a", signature("string, int", _part)),
    _text(
        "TRIM",
        "TRIM([BOTH | LEADING | TRAILING] [characters] FROM a)",
        "a without the characters, spaces if left out, at its ends",
        signature("string, string, string", _trimmed),
    ),
    _text(
        "LTRIM",
        "LTRIM(a [, characters])",
        "a without spaces, or the characters, at its start",
        signature("string [, string]", _varying),
    ),
    _text(
        "RTRIM",
        "RTRIM(a [, characters])",
        "a without spaces, or the characters, at its end",
        signature("string [, string]", _varying),
    ),
    _text(
        "BTRIM",
        "BTRIM(a [, characters])",
        "a without spaces, or the characters, at both ends",
        signature("string [, string]", _STRING),
    ),
    _text(
        "SPLIT",
        "SPLIT(a, separator)",
        "the parts of a between separators",
        signature("string, string", _STRINGS),
    ),
    _text(
        "SPLIT_INDEX",
        "SPLIT_INDEX(a, separator, index)",
        "one of the parts of a between separators, from 0; NULL if there is none",
        signature("string, string, int", nullable(_STRING)),
        signature("string, int, int", nullable(_STRING)),
    ),
    _text(
        "ELT",
        "ELT(index, a, b, ...)",
        "one of the values, from 1; NULL if there is none",
        signature("bigint, string, ...", _choice),
        signature("bigint, binary, ...", _choice),
    ),
    _text(
        "PARSE_URL",
        "PARSE_URL(url, part [, key])",
        "HOST, PATH, QUERY, REF, PROTOCOL, AUTHORITY, FILE or USERINFO of a URL, or the value of "
        "a key of its query",
        signature("string, string [, string]", nullable(_STRING)),
    ),
    _text(
        "STR_TO_MAP",
        "STR_TO_MAP(a [, pairs, keys])",
        "a map from a text of pairs; the separators, ',' and '=' if left out, are regular "
        "expressions",
        signature("string", nullable(DataTypes.MAP(_STRING, _STRING))),
        signature("string, string, string", nullable(DataTypes.MAP(_STRING, _STRING))),
    ),
)

_CHANGES = (
    _text("UPPER", "UPPER(a)", "a in capital letters", signature("string", _same), also="UCASE"),
    _text("LOWER", "LOWER(a)", "a in small letters", signature("string", _same), also="LCASE"),
    _text(
        "INITCAP",
        "INITCAP(a)",
        "a with the first letter of each word a capital",
        signature("string", _same),
    ),
    _text("REVERSE", "REVERSE(a)", "a backwards", signature("string", nullable(_STRING))),
    _text("REPEAT", "REPEAT(a, count)", "a so many times", signature("string, int", _STRING)),
    _text(
        "REPLACE",
        "REPLACE(a, old, new)",
        "a with every `old` replaced",
        signature("string, string, string", _STRING),
    ),
    _text(
        "TRANSLATE",
        "TRANSLATE(a, from, to)",
        "a with each character that is in `from` replaced by the one at its place in `to`",
        signature("string, string, string", _first_nullable(_STRING)),
        also="TRANSLATE3",
    ),
    _text(
        "OVERLAY",
        "OVERLAY(a PLACING b FROM start [FOR length])",
        "a with b in place of a part of it",
        signature("string, string, int [, int]", _overlaid),
    ),
    _text(
        "LPAD",
        "LPAD(a, length, pad)",
        "a of that length, filled up at its start or cut; NULL if that cannot be",
        signature("string, int, string", _STRING),
        fails=True,
    ),
    _text(
        "RPAD",
        "RPAD(a, length, pad)",
        "a of that length, filled up at its end or cut; NULL if that cannot be",
        signature("string, int, string", _STRING),
        fails=True,
    ),
)

_REGULAR = (
    _text(
        "REGEXP",
        "REGEXP(a, regex)",
        "whether a part of a matches; FALSE for an empty regex",
        signature("string, string", _BOOLEAN),
    ),
    _text(
        "REGEXP_REPLACE",
        "REGEXP_REPLACE(a, regex, new)",
        "a with every part that matches replaced by `new`, literally; NULL if the regex is none",
        signature("string, string, string", _STRING),
        fails=True,
    ),
    _text(
        "REGEXP_EXTRACT",
        "REGEXP_EXTRACT(a, regex [, group])",
        "the first part that matches, or a group of it",
        signature("string, string [, int]", nullable(_STRING)),
    ),
    _text(
        "REGEXP_EXTRACT_ALL",
        "REGEXP_EXTRACT_ALL(a, regex [, group])",
        "the first group, or that group, of all parts that match",
        signature("string, string [, bigint]", nullable(_STRINGS)),
    ),
    _text(
        "REGEXP_COUNT",
        "REGEXP_COUNT(a, regex)",
        "how many parts match",
        signature("string, string", nullable(_INT)),
    ),
    _text(
        "REGEXP_INSTR",
        "REGEXP_INSTR(a, regex)",
        "where the first part that matches starts",
        signature("string, string", nullable(_INT)),
    ),
    _text(
        "REGEXP_SUBSTR",
        "REGEXP_SUBSTR(a, regex)",
        "the first part that matches",
        signature("string, string", nullable(_STRING)),
    ),
)

_QUESTIONS = (
    _text(
        "CHAR_LENGTH",
        "CHAR_LENGTH(a)",
        "how many characters a has",
        signature("string", _INT),
        also="CHARACTER_LENGTH",
    ),
    _text("ASCII", "ASCII(a)", "the first byte of a as a number", signature("string", _INT)),
    _text(
        "POSITION",
        "POSITION(part IN a)",
        "where the part is first found in a; 0 if nowhere",
        signature("string, string", _INT),
    ),
    _text(
        "LOCATE",
        "LOCATE(part, a [, start])",
        "where the part is first found in a, from a position on; 0 if nowhere",
        signature("string, string [, int]", _INT),
    ),
    _text(
        "INSTR",
        "INSTR(a, part [, start [, nth]])",
        "where the part is found in a for the n-th time; 0 if nowhere",
        signature("string, string [, int [, int]]", _INT),
        fails=True,
    ),
    _text(
        "STARTSWITH",
        "STARTSWITH(a, b)",
        "whether a starts with b",
        signature("string, string", _BOOLEAN),
        signature("binary, binary", _BOOLEAN),
    ),
    _text(
        "ENDSWITH",
        "ENDSWITH(a, b)",
        "whether a ends with b",
        signature("string, string", _BOOLEAN),
        signature("binary, binary", _BOOLEAN),
    ),
)

_CODES = (
    _text(
        "CHR",
        "CHR(a)",
        "the character with that number, modulo 256; empty if it is negative",
        signature("bigint", nullable(_STRING)),
    ),
    _text("TO_BASE64", "TO_BASE64(a)", "the bytes of a in base 64", signature("string", _STRING)),
    _text(
        "FROM_BASE64",
        "FROM_BASE64(a)",
        "the text that a, in base 64, stands for",
        signature("string", _STRING),
        fails=True,
    ),
    _text(
        "ENCODE",
        "ENCODE(a, charset)",
        "the bytes of a in a character set",
        signature("string, string", _BYTES),
        fails=True,
    ),
    _text(
        "DECODE",
        "DECODE(bytes, charset)",
        "the text that bytes in a character set stand for",
        signature("binary, string", _STRING),
        fails=True,
    ),
    _text(
        "URL_ENCODE", "URL_ENCODE(a)", "a as part of a URL", signature("string", nullable(_STRING))
    ),
    _text(
        "URL_DECODE",
        "URL_DECODE(a)",
        "the text behind a part of a URL; NULL if it is none",
        signature("string", nullable(_STRING)),
    ),
    _text(
        "PRINTF",
        "PRINTF(format, a, b, ...)",
        "the values in a format of Java's Formatter; NULL if they do not fit",
        signature("string, any, ...", nullable(_STRING)),
        signature("string", nullable(_STRING)),
    ),
    _text(
        "INET_ATON",
        "INET_ATON(a)",
        "an IPv4 address as a number; NULL if it is none",
        signature("string", nullable(DataTypes.BIGINT())),
    ),
    _text(
        "INET_NTOA",
        "INET_NTOA(a)",
        "a number as an IPv4 address; NULL if it is none",
        signature("bigint", nullable(_STRING)),
    ),
)

STRINGS: tuple[BuiltIn, ...] = (
    *_CONCATENATION,
    *_PARTS,
    *_CHANGES,
    *_REGULAR,
    *_QUESTIONS,
    *_CODES,
)
