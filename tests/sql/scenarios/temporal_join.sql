-- Each order with the rate that was valid at its time.
-- file orders.json
-- {"id": 1, "usr": "ann", "price": 10.5, "ts": "2024-01-01 10:00:01"}
-- {"id": 2, "usr": "bob", "price": 3.0, "ts": "2024-01-01 10:00:03"}
-- {"id": 3, "usr": "ann", "price": 7.25, "ts": "2024-01-01 10:00:02"}
-- {"id": 4, "usr": null, "price": 1.0, "ts": "2024-01-01 10:00:11"}
-- {"id": 5, "usr": "bob", "price": null, "ts": "2024-01-01 10:00:12"}
-- {"id": 6, "usr": "cid", "price": 10.5, "ts": "2024-01-01 10:00:25"}
-- {"id": 7, "usr": "ann", "price": 2.0, "ts": "2024-01-01 10:00:24"}
-- {"id": 8, "usr": "bob", "price": 9.0, "ts": "2024-01-01 10:00:41"}
CREATE TABLE orders (id INT, usr STRING, price DOUBLE, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
-- file rates.json
-- {"usr": "ann", "rate": 1, "since": "2024-01-01 10:00:00"}
-- {"usr": "bob", "rate": 2, "since": "2024-01-01 10:00:00"}
-- {"usr": "ann", "rate": 3, "since": "2024-01-01 10:00:02"}
-- {"usr": "bob", "rate": 4, "since": "2024-01-01 10:00:30"}
CREATE TABLE rates (usr STRING, rate INT, since TIMESTAMP(3), WATERMARK FOR since AS since)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/rates.json');
CREATE VIEW versions AS SELECT usr, rate, since FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY since DESC) AS rn FROM rates) WHERE rn = 1;
SELECT o.id, o.price * r.rate AS paid FROM orders o JOIN versions FOR SYSTEM_TIME AS OF o.ts AS r ON o.usr = r.usr;
-- table
-- [1, 10.5]
-- [2, 6]
-- [3, 21.75]
-- [5, null]
-- [7, 6]
-- [8, 36]
-- changes
-- +I[1, 10.5]
-- +I[3, 21.75]
-- +I[2, 6]
-- +I[5, null]
-- +I[7, 6]
-- +I[8, 36]
-- only flink's batch
-- unexpected correlate variable
