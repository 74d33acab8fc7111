-- IN under OR is a value, and unknown is no reason to keep a row.
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
SELECT id, usr FROM orders WHERE n > 6 OR usr IN (SELECT usr FROM gifts);
-- table
-- [1, ann]
-- [2, bob]
-- [3, ann]
-- [5, cid]
-- [6, bob]
