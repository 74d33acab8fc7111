-- A NULL key has versions like any other, and rows with a NULL key are joined with them.
-- file orders.json
-- {"id": 1, "usr": "ann", "ts": "2024-01-01 10:00:01"}
-- {"id": 2, "usr": null, "ts": "2024-01-01 10:00:03"}
-- {"id": 3, "usr": "zoe", "ts": "2024-01-01 10:00:04"}
-- {"id": 4, "usr": null, "ts": "2024-01-01 10:00:09"}
CREATE TABLE orders (id INT, usr STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
-- file rates.json
-- {"usr": "ann", "rate": 1, "since": "2024-01-01 10:00:00"}
-- {"usr": null, "rate": 2, "since": "2024-01-01 10:00:00"}
-- {"usr": null, "rate": 3, "since": "2024-01-01 10:00:05"}
CREATE TABLE rates (usr STRING, rate INT, since TIMESTAMP(3), WATERMARK FOR since AS since)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/rates.json');
CREATE VIEW versions AS SELECT usr, rate, since FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY since DESC) AS rn FROM rates) WHERE rn = 1;
SELECT o.id, o.usr, r.rate FROM orders o LEFT JOIN versions FOR SYSTEM_TIME AS OF o.ts AS r ON o.usr = r.usr;
-- table
-- [1, ann, 1]
-- [2, null, 2]
-- [3, zoe, null]
-- [4, null, 3]
-- only flink's batch
-- unexpected correlate variable
