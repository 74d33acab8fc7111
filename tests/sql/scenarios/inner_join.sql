-- Pairs of rows of two tables, both of which change.
-- Which of the two files is read first is open, and so is the order of changes.
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
-- file shops.json
-- {"op": "c", "before": null, "after": {"name": "a", "city": "Bonn"}}
-- {"op": "c", "before": null, "after": {"name": "b", "city": "Kiel"}}
-- {"op": "u", "before": {"name": "a", "city": "Bonn"}, "after": {"name": "a", "city": "Köln"}}
CREATE TABLE shops (name STRING, city STRING)
WITH ('connector' = 'filesystem', 'format' = 'debezium-json', 'path' = '$DIR/shops.json');
SELECT item, city, n FROM stock JOIN shops ON shop = name;
-- table
-- [gear, Kiel, 2]
-- [nut, Kiel, 8]
-- [nut, Köln, 8]
-- refused in batch
-- INSERT-only table sources
