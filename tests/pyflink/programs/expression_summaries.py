"""What every function and method of expressions prints."""

from decimal import Decimal

from pyflink.table import DataTypes
from pyflink.table.expression import (
    Expression,
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from pyflink.table.expressions import *  # noqa: F403
from pyflink.table.expressions import coalesce, lag, lead, map_from_arrays, with_all_columns

OPERATORS = """
a + 1; 1 + a; a - b; 1 - a; a * 2; 2 * a; a / b; 2 / a; a % b; 7 % a; a ** 2; 2 ** a; -a; abs(a)
a == 1; a != 1; a > 1; a >= 1; a < 1; a <= 1; a == "x"; 1 < a
(a == 1) & (b == 2); (a == 1) | (b == 2); (a > 1) & (b > 2) & (c > 3); a | b | c; True & a; a & True
a | (b | c); a & (b | c) & True; False | a; ~(a == 1); ~~a; a + b + c; a + (b + c); (a + b) * c
a[1]; a["k"]; a.field; a.field.inner; a.alias("x") ; a.alias("x", "y"); a.sum.alias("s")
a.as_argument("arg"); a.asc; a.desc; a.get(0); a.get("f"); a.at(b); a.flatten; a.get("f").get(1) + 1
a.cast(DataTypes.INT()); a.try_cast(DataTypes.STRING()); a.cast(DataTypes.BIGINT().not_null())
a.cast(DataTypes.DECIMAL(10, 2)); a.cast(DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())]))
a.cast(DataTypes.ARRAY(DataTypes.VARCHAR(5))); a.cast(DataTypes.MAP(DataTypes.INT(), DataTypes.DATE()))
a.cast(DataTypes.TIMESTAMP_LTZ(3)); a.cast(DataTypes.TIMESTAMP(6)); a.cast(DataTypes.TIME())
a.cast(DataTypes.BYTES()); a.cast(DataTypes.BINARY(3)); a.cast(DataTypes.CHAR(3)); a.between(1, 2)
a.not_between(1, b); a.in_(1, 2, 3); a.in_("x"); a.then(1, 2); (a == 1).then("x", "y"); a.if_null(0)
a.is_null; a.is_not_null; a.is_true; a.is_false; a.is_not_true; a.is_not_false
a.sum.over(col("w")); a.count.distinct; a.in_([1, 2]); a == [1, 2]; a == True; a + None; a == Decimal("1.50"); a == 1e10
a == 1e-5; a == 0.001; a == b"ab"; a == 3000000000; a == float("nan"); "a" == a; a.sum.distinct.alias("n"); a.like("x%")
a.like("x!%", "!"); a.similar("x*"); a.is_null & b.is_not_null; a.cast(DataTypes.INT()) + 1
"""

PROPERTIES = """
exp log10 log2 ln cosh sinh sin cos tan cot asin acos atan tanh degrees radians sqrt abs sign bin hex
unhex sum sum0 min max count avg first_value last_value stddev_pop stddev_samp var_pop var_samp collect
array_agg char_length upper_case lower_case init_cap from_base64 to_base64 ascii chr reverse to_date
to_time to_timestamp cardinality element map_keys map_values map_entries rowtime proctime start end
md5 sha1 sha224 sha256 sha384 sha512
"""

INTERVALS = """
year years quarter quarters month months week weeks day days hour hours minute minutes second seconds
milli millis
"""

METHODS = """
log() log(2) round(2) round(b) concat("x") list_agg() list_agg(";") truncate() truncate(2)
percentile(0.5) percentile(0.5,b) starts_with("x") ends_with(b) substring(2) substring(1,2) substr(2)
substr(1,2) trim_leading() trim_leading("x") trim_trailing() trim_trailing("x") trim() trim("x")
replace("a","b") translate("a","b") position("x") lpad(3,"x") rpad(3,"x") overlay("x",1) overlay("x",1,2)
regexp("x") regexp_count("x") regexp_replace("a","b") regexp_extract("a") regexp_extract("a",1)
regexp_extract_all("a") regexp_extract_all("a",1) regexp_instr("a") regexp_substr("a") decode("UTF-8")
encode("UTF-8") left(1) right(1) instr("x") locate("x") locate("x",2) url_decode() url_encode()
inet_aton() inet_ntoa() parse_url("HOST") parse_url("QUERY","k") printf("x",1) ltrim() ltrim("x") rtrim()
rtrim("x") btrim() btrim("x") repeat(2) split_index(",",1) str_to_map() str_to_map(",","=") elt("x","y")
extract(TimeIntervalUnit.DAY) extract(TimeIntervalUnit.YEAR_TO_MONTH) floor() floor(TimeIntervalUnit.HOUR)
ceil() ceil(TimeIntervalUnit.MINUTE_TO_SECOND) array_append(1) array_contains(1) 
array_position(1) array_prepend(1) array_remove(1) array_union(b) array_max() array_min()
array_except(b) array_intersect(b) split(",") sha2(256)
is_json() is_json(JsonType.ARRAY) json_exists("$.x") json_exists("$.x",JsonExistsOnError.TRUE)
json_value("$.x") json_value("$.x",DataTypes.INT()) json_value("$.x",DataTypes.STRING())
json_value("$.x",DataTypes.INT(),JsonValueOnEmptyOrError.DEFAULT,1,JsonValueOnEmptyOrError.ERROR)
json_query("$.x") json_query("$.x",JsonQueryWrapper.CONDITIONAL_ARRAY)
json_query("$.x",JsonQueryWrapper.UNCONDITIONAL_ARRAY,JsonQueryOnEmptyOrError.EMPTY_ARRAY)
json_quote() json_unquote() bitmap_and(b) bitmap_andnot(b) bitmap_and_agg()
bitmap_and_cardinality_agg() bitmap_build() bitmap_build_agg() bitmap_build_cardinality_agg()
bitmap_cardinality() bitmap_from_bytes() bitmap_or(b) bitmap_or_agg() bitmap_or_cardinality_agg()
bitmap_to_array() bitmap_to_bytes() bitmap_to_string() bitmap_xor(b) bitmap_xor_agg()
bitmap_xor_cardinality_agg()
"""

FUNCTIONS = """
col("a") col("*") col("a`b") col("a.b") lit(1) lit(1.5) lit("x") lit("it's") lit(True) lit(False)
lit(None,DataTypes.INT()) lit(-3) lit("x",DataTypes.STRING().not_null()) range_("a","b")
range_(1,3) and_(a,b) and_(a,b,c) or_(a,b) or_(a,b,True) not_(a) current_database() current_date()
current_time() current_timestamp() current_watermark(a) local_time() local_timestamp() to_date(a)
to_date(a,"yyyy") to_timestamp(a) to_timestamp(a,"yyyy") to_timestamp_ltz(a) to_timestamp_ltz(a,3)
to_timestamp_ltz(a,"yyyy","UTC") temporal_overlaps(a,b,c,lit(1).hour) date_format(a,"yyyy")
timestamp_diff(TimePointUnit.DAY,a,b) convert_tz(a,"UTC","Asia/Tokyo") from_unixtime(a)
from_unixtime(a,"yyyy") unix_timestamp() unix_timestamp(a) unix_timestamp(a,"yyyy") array(1,2) array(a)
row(a,1) row("x") map_("k",1) map_("k",1,"l",b) map_from_arrays(a,b)
 row_interval(5) pi() e() rand() rand(1) rand_integer(5) rand_integer(5,1)
atan2(a,b) negative(a) concat(a,b) concat("x",a,"y") concat_ws(",",a,b) concat_ws(",",a) uuid()
null_of(DataTypes.INT()) log(a) log(a,2) source_watermark() if_then_else(a,1,2)
if_then_else(a>1,b,"x") coalesce(a,b) coalesce(a,1,2) with_all_columns() with_columns(a)
with_columns(range_("a","b"),c) with_columns(1) without_columns(a,b) json(a) json_string(a)
json_object_agg(JsonOnNull.NULL,"k",a) json_object_agg(JsonOnNull.ABSENT,a,b) json_array_agg(JsonOnNull.NULL,a)
json_array_agg(JsonOnNull.ABSENT,a) lag(a) lag(a,2) lag(a,2,0) lead(a) lead(a,2) lead(a,2,0) call("f",a)
call("f") call("db.f",a,1) call_sql("a+1") call_sql("upper(b)") UNBOUNDED_ROW UNBOUNDED_RANGE
CURRENT_ROW CURRENT_RANGE coalesce(a,None)
"""

a, b, c = col("a"), col("b"), col("c")  # noqa: F405


def show(text):
    """Print an expression behind the text that makes it."""
    print(text, "=>", eval(text))


for text in OPERATORS.replace("\n", ";").split(";"):
    if text.strip():
        show(text.strip())
for name in PROPERTIES.split():
    show(f"a.{name}")
for name in INTERVALS.split():
    show(f"lit(2).{name}")
for text in METHODS.split():
    show(f"a.{text}")
for text in FUNCTIONS.split():
    show(text)
