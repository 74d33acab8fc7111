-- Rows of constants are a table.
-- Flink makes a union of the rows, whose order is open.
SELECT x * 2 AS x, y FROM (VALUES (1, 'a'), (2, 'b'), (3, CAST(NULL AS STRING))) AS t (x, y) WHERE x <> 2;
-- table
-- [2, a]
-- [6, null]
