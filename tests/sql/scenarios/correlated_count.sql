-- A count and a sum of rows that belong to the row, of which there may be none.
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
SELECT id, (SELECT COUNT(*) FROM gifts AS g WHERE g.usr = o.usr) AS c,
  (SELECT COALESCE(SUM(g.n), 0) FROM gifts AS g WHERE g.usr = o.usr) AS s FROM orders AS o;
-- table
-- [1, 3, 12]
-- [2, 2, 2]
-- [3, 3, 12]
-- [4, 0, 0]
-- [5, 0, 0]
-- [6, 2, 2]
