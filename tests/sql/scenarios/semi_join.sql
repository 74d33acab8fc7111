-- Rows whose value another query has.
-- Which of the two inputs a row of the one file reaches first is open, and so is the order of changes.
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
SELECT item, shop, n FROM stock WHERE item IN (SELECT item FROM stock WHERE shop = 'b');
-- table
-- [gear, b, 2]
-- [nut, a, 8]
-- [nut, b, 8]
-- refused in batch
-- INSERT-only table sources
