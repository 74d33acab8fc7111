"""Names that programs import from places where PyFlink has them."""

from __future__ import annotations

import pytest

import scurry.common
import scurry.datastream.connectors
from scurry.common import Instant, Types
from scurry.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from scurry.common.typeinfo import BasicType, BasicTypeInfo, InstantTypeInfo

KINDS = [kind for kind in BasicType if kind is not BasicType.INSTANT]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_basic_types_by_their_longer_names(kind: BasicType) -> None:
    by_name = getattr(BasicTypeInfo, f"{kind.name}_TYPE_INFO")()
    assert by_name == getattr(Types, kind.name)() == BasicTypeInfo(kind)


def test_instants_have_a_type_of_their_own() -> None:
    found = BasicTypeInfo.INSTANT_TYPE_INFO()
    assert isinstance(found, InstantTypeInfo)
    assert found == Types.INSTANT() == Types.of(Instant) == InstantTypeInfo(BasicType.INSTANT)
    assert found.check(Instant.of_epoch_milli(5)) is None
    assert found.check(5) == "expected INSTANT, got 5 (int)"


def test_the_bounds_of_longs() -> None:
    assert Types.LONG().check(MAX_LONG_VALUE) is None
    assert Types.LONG().check(MIN_LONG_VALUE) is None
    assert Types.LONG().check(MAX_LONG_VALUE + 1) is not None
    assert Types.LONG().check(MIN_LONG_VALUE - 1) is not None


@pytest.mark.parametrize("package", [scurry.common, scurry.datastream.connectors])
def test_what_is_not_there_is_no_attribute(package: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        package.Nothing  # type: ignore[attr-defined]  # noqa: B018
