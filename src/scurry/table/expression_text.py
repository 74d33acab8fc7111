"""Texts in the Table API's expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.table.expression_core import ExpressionCore, given

if TYPE_CHECKING:
    from scurry.table.expression import Expression


class TextMethods(ExpressionCore):
    """Functions of texts."""

    def concat(self, other: Any) -> Expression:
        """This text and the other behind it."""
        return self._call("CONCAT", other)

    def starts_with(self, start_expr: Any) -> Expression:
        """Whether this begins with that."""
        return self._call("STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Expression:
        """Whether this ends with that."""
        return self._call("ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Expression:
        """The text from a position on, counted from 1, of so many characters."""
        return self._call("SUBSTRING", begin_index, *given(length))

    def substr(self, begin_index: Any, length: Any = None) -> Expression:
        """The text from a position on, counted from 1, of so many characters."""
        return self._call("SUBSTR", begin_index, *given(length))

    def trim_leading(self, character: Any = None) -> Expression:
        """Without spaces, or without ``character``, at the start."""
        return self._trim("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Expression:
        """Without spaces, or without ``character``, at the end."""
        return self._trim("TRAILING", character)

    def trim(self, character: Any = None) -> Expression:
        """Without spaces, or without ``character``, at both ends."""
        return self._trim("BOTH", character)

    def replace(self, search: Any = None, replacement: Any = None) -> Expression:
        """With every occurrence of one text replaced by another."""
        return self._call("REPLACE", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Expression:
        """With each character of one text replaced by that at its place in the other."""
        return self._call("TRANSLATE", from_str, to_str)

    @property
    def char_length(self) -> Expression:
        """How many characters there are."""
        return self._call("CHAR_LENGTH")

    @property
    def upper_case(self) -> Expression:
        """In upper case."""
        return self._call("UPPER")

    @property
    def lower_case(self) -> Expression:
        """In lower case."""
        return self._call("LOWER")

    @property
    def init_cap(self) -> Expression:
        """With a capital at the start of each word."""
        return self._call("INITCAP")

    def position(self, haystack: Any = None) -> Expression:
        """Where this text first is in another, counted from 1; 0 if it is not."""
        return self._call("POSITION", haystack)

    def lpad(self, length: Any, pad: Any) -> Expression:
        """Filled up at the start to a length."""
        return self._call("LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Expression:
        """Filled up at the end to a length."""
        return self._call("RPAD", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Expression:
        """With a part, from a position on, replaced by another text."""
        return self._call("OVERLAY", new_string, starting, *given(length))

    def regexp(self, regex: Any) -> Expression:
        """Whether the regular expression is found."""
        return self._call("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Expression:
        """How often the regular expression is found."""
        return self._call("REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Expression:
        """With everything that matches replaced."""
        return self._call("REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Expression:
        """What the regular expression, or a group of it, finds."""
        return self._call("REGEXP_EXTRACT", regex, *given(extract_index))

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression:
        """All that the regular expression, or a group of it, finds."""
        return self._call("REGEXP_EXTRACT_ALL", regex, *given(extract_index))

    def regexp_instr(self, regex: Any) -> Expression:
        """Where the regular expression is first found, counted from 1."""
        return self._call("REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Expression:
        """What the regular expression first finds."""
        return self._call("REGEXP_SUBSTR", regex)

    @property
    def from_base64(self) -> Expression:
        """The text of a text in base 64."""
        return self._call("FROM_BASE64")

    @property
    def to_base64(self) -> Expression:
        """The text in base 64."""
        return self._call("TO_BASE64")

    @property
    def ascii(self) -> Expression:
        """The number of the first character."""
        return self._call("ASCII")

    @property
    def chr(self) -> Expression:
        """The character of a number."""
        return self._call("CHR")

    def decode(self, charset: Any) -> Expression:
        """Bytes as text."""
        return self._call("DECODE", charset)

    def encode(self, charset: Any) -> Expression:
        """Text as bytes."""
        return self._call("ENCODE", charset)

    def left(self, length: Any) -> Expression:
        """So many characters from the start."""
        return self._call("LEFT", length)

    def right(self, length: Any) -> Expression:
        """So many characters at the end."""
        return self._call("RIGHT", length)

    def instr(self, s: Any) -> Expression:
        """Where another text first is in this one, counted from 1; 0 if it is not."""
        return self._call("INSTR", s)

    def locate(self, s: Any, pos: Any = None) -> Expression:
        """Where this text is in another, from a position on."""
        return self._call("LOCATE", s, *given(pos))

    def url_decode(self) -> Expression:
        """A part of a URL as text."""
        return self._call("URL_DECODE")

    def url_encode(self) -> Expression:
        """The text as a part of a URL."""
        return self._call("URL_ENCODE")

    def inet_aton(self) -> Expression:
        """The number of an IPv4 address."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Expression:
        """The IPv4 address of a number."""
        return self._call("INET_NTOA")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Expression:
        """A part of a URL: HOST, PATH, QUERY, ..."""
        return self._call("PARSE_URL", part_to_extract, *given(key))

    def printf(self, *obj: Any) -> Expression:
        """This format filled in with values."""
        return self._call("PRINTF", *obj)

    def ltrim(self, trim_str: Any = None) -> Expression:
        """Without spaces, or those characters, at the start."""
        return self._call("LTRIM", *given(trim_str))

    def rtrim(self, trim_str: Any = None) -> Expression:
        """Without spaces, or those characters, at the end."""
        return self._call("RTRIM", *given(trim_str))

    def btrim(self, trim_str: Any = None) -> Expression:
        """Without spaces, or those characters, at both ends."""
        return self._call("BTRIM", *given(trim_str))

    def repeat(self, n: Any) -> Expression:
        """The text so many times."""
        return self._call("REPEAT", n)

    @property
    def reverse(self) -> Expression:
        """The text backwards."""
        return self._call("REVERSE")

    def split_index(self, separator: Any, index: Any) -> Expression:
        """A part of the text between separators, counted from 0."""
        return self._call("SPLIT_INDEX", separator, index)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Expression:
        """The map that a text such as ``a=1,b=2`` means."""
        return self._call("STR_TO_MAP", *given(list_delimiter, key_value_delimiter))

    def elt(self, expr: Any, *exprs: Any) -> Expression:
        """That of the arguments whose number this is, counted from 1."""
        return self._call("ELT", expr, *exprs)

    @property
    def md5(self) -> Expression:
        """The MD5 hash, in hexadecimal digits."""
        return self._call("MD5")

    @property
    def sha1(self) -> Expression:
        """The SHA1 hash, in hexadecimal digits."""
        return self._call("SHA1")

    @property
    def sha224(self) -> Expression:
        """The SHA224 hash, in hexadecimal digits."""
        return self._call("SHA224")

    @property
    def sha256(self) -> Expression:
        """The SHA256 hash, in hexadecimal digits."""
        return self._call("SHA256")

    @property
    def sha384(self) -> Expression:
        """The SHA384 hash, in hexadecimal digits."""
        return self._call("SHA384")

    @property
    def sha512(self) -> Expression:
        """The SHA512 hash, in hexadecimal digits."""
        return self._call("SHA512")

    def sha2(self, hash_length: Any) -> Expression:
        """The SHA-2 hash of so many bits, in hexadecimal digits."""
        return self._call("SHA2", hash_length)
