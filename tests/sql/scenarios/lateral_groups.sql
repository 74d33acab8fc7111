-- Groups of the rows that belong to the row.
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
SELECT o.id, t.odd, t.c FROM orders AS o,
  LATERAL (SELECT MOD(g.n, 2) AS odd, COUNT(*) AS c FROM gifts AS g WHERE g.usr = o.usr
           GROUP BY MOD(g.n, 2)) AS t;
-- table
-- [1, 0, 1]
-- [1, 1, 2]
-- [2, 0, 1]
-- [2, null, 1]
-- [3, 0, 1]
-- [3, 1, 2]
-- [6, 0, 1]
-- [6, null, 1]
