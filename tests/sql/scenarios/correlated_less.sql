-- An aggregate of rows that are compared with the row by more than equality.
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
SELECT id, (SELECT MAX(g.n) FROM gifts AS g WHERE g.usr = o.usr AND g.n > o.n) AS m FROM orders AS o;
-- table
-- [1, 8]
-- [2, null]
-- [3, 8]
-- [4, null]
-- [5, null]
-- [6, null]
