-- OVER on a table that is updated.
-- file orders.json
-- {"id": 1, "usr": "ann", "price": 10}
-- {"id": 2, "usr": "bob", "price": 3}
-- {"id": 3, "usr": "ann", "price": 7}
-- {"id": 4, "usr": null, "price": 1}
-- {"id": 5, "usr": "bob", "price": null}
-- {"id": 6, "usr": "cid", "price": 10}
-- {"id": 7, "usr": "ann", "price": 7}
-- {"id": 8, "usr": "bob", "price": 2}
CREATE TABLE orders (id INT, usr STRING, price INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
SELECT usr, c, SUM(c) OVER (ORDER BY c) AS s
FROM (SELECT usr, COUNT(*) AS c FROM orders GROUP BY usr);
-- table
-- [ann, 3, 8]
-- [bob, 3, 8]
-- [cid, 1, 2]
-- [null, 1, 2]
