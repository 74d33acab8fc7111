-- Different values of rows that change and vanish.
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
SELECT COUNT(DISTINCT n) AS numbers, COUNT(DISTINCT item) AS items FROM stock;
-- table
-- [2, 2]
-- changes
-- +I[1, 1]
-- -U[1, 1]
-- +U[2, 2]
-- -U[2, 2]
-- +U[1, 1]
-- -U[1, 1]
-- +U[2, 2]
-- -U[2, 2]
-- +U[3, 2]
-- -U[3, 2]
-- +U[2, 1]
-- -U[2, 1]
-- +U[1, 1]
-- -U[1, 1]
-- +U[2, 2]
