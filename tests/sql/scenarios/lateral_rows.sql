-- A lateral query: the rows that belong to the row.
-- file orders.json
-- {"id": 1, "usr": "ann", "n": 3}
-- {"id": 2, "usr": "bob", "n": null}
-- {"id": 3, "usr": "ann", "n": 1}
-- {"id": 4, "usr": null, "n": 2}
-- {"id": 5, "usr": "cid", "n": 7}
-- {"id": 6, "usr": "bob", "n": 2}
-- file gifts.json
-- {"usr": "ann", "n": 3}
-- {"usr": "ann", "n": 1}
-- {"usr": "bob", "n": null}
-- {"usr": null, "n": 5}
-- {"usr": "bob", "n": 2}
-- {"usr": "ann", "n": 8}
CREATE TABLE orders (id INT, usr STRING, n INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
CREATE TABLE gifts (usr STRING, n INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/gifts.json');
SELECT o.id, t.n, t.twice FROM orders AS o,
  LATERAL (SELECT n, n * 2 AS twice FROM gifts AS g WHERE g.usr = o.usr AND g.n > 1) AS t;
-- table
-- [1, 3, 6]
-- [1, 8, 16]
-- [2, 2, 4]
-- [3, 3, 6]
-- [3, 8, 16]
-- [6, 2, 4]
