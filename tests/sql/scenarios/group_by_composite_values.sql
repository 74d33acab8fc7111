-- Groups and joins by rows and arrays, with nulls in them.
-- file moves.json
-- {"x": 1, "y": "a"}
-- {"x": 1, "y": "a"}
-- {"x": 2, "y": null}
-- {"x": null, "y": "a"}
-- {"x": 2, "y": null}
CREATE TABLE moves (x INT, y STRING)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/moves.json');
SELECT CAST(r AS STRING) AS r, CAST(a AS STRING) AS a, COUNT(*) AS n FROM (SELECT ROW(x, y) AS r, ARRAY[x, x + 1] AS a FROM moves) GROUP BY r, a;
-- table
-- [(1, a), [1, 2], 2]
-- [(2, NULL), [2, 3], 2]
-- [(NULL, a), [NULL, NULL], 1]
-- changes
-- +I[(1, a), [1, 2], 1]
-- -U[(1, a), [1, 2], 1]
-- +U[(1, a), [1, 2], 2]
-- +I[(2, NULL), [2, 3], 1]
-- +I[(NULL, a), [NULL, NULL], 1]
-- -U[(2, NULL), [2, 3], 1]
-- +U[(2, NULL), [2, 3], 2]
