-- Aggregates of a table whose rows change and vanish.
-- file stock.json
-- {"op": "c", "before": null, "after": {"item": "nut", "shop": "a", "n": 5}}
-- {"op": "c", "before": null, "after": {"item": "bolt", "shop": "a", "n": 3}}
-- {"op": "u", "before": {"item": "nut", "shop": "a", "n": 5}, "after": {"item": "nut", "shop": "a", "n": 8}}
-- {"op": "c", "before": null, "after": {"item": "nut", "shop": "b", "n": 1}}
-- {"op": "d", "before": {"item": "bolt", "shop": "a", "n": 3}, "after": null}
-- {"op": "u", "before": {"item": "nut", "shop": "b", "n": 1}, "after": {"item": "nut", "shop": "b", "n": 8}}
-- {"op": "c", "before": null, "after": {"item": "gear", "shop": "b", "n": 2}}
CREATE TABLE stock (item STRING, shop STRING, n INT)
WITH ('connector' = 'filesystem', 'format' = 'debezium-json', 'path' = '$DIR/stock.json');
SELECT item, COUNT(*) AS shops, SUM(n) AS total, MIN(n) AS least, MAX(n) AS most FROM stock GROUP BY item;
-- table
-- [gear, 1, 2, 2, 2]
-- [nut, 2, 16, 8, 8]
-- changes
-- +I[nut, 1, 5, 5, 5]
-- +I[bolt, 1, 3, 3, 3]
-- -D[nut, 1, 5, 5, 5]
-- +I[nut, 1, 8, 8, 8]
-- -U[nut, 1, 8, 8, 8]
-- +U[nut, 2, 9, 1, 8]
-- -D[bolt, 1, 3, 3, 3]
-- -U[nut, 2, 9, 1, 8]
-- +U[nut, 1, 8, 8, 8]
-- -U[nut, 1, 8, 8, 8]
-- +U[nut, 2, 16, 8, 8]
-- +I[gear, 1, 2, 2, 2]
-- refused in batch
-- INSERT-only table sources
