-- The first rows of each user: top-N by a lateral query.
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
-- {"usr": "cid", "n": 5}
-- {"usr": "bob", "n": 2}
-- {"usr": "ann", "n": 8}
CREATE TABLE orders (id INT, usr STRING, n INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
CREATE TABLE gifts (usr STRING, n INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/gifts.json');
SELECT u.usr, t.n FROM (SELECT DISTINCT usr FROM gifts) AS u,
  LATERAL (SELECT n FROM gifts WHERE usr = u.usr ORDER BY n DESC LIMIT 2) AS t;
-- table
-- [ann, 3]
-- [ann, 8]
-- [bob, 2]
-- [bob, null]
-- [cid, 5]
-- only flink's batch
-- unexpected correlate variable
