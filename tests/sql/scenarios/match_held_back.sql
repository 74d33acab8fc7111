-- A match waits for one that began before; its time is that at which it is found.
-- file ticks.json
-- {"id": 1, "price": 40, "ts": "2024-01-01 10:00:01"}
-- {"id": 2, "price": 10, "ts": "2024-01-01 10:00:02"}
-- {"id": 3, "price": 5, "ts": "2024-01-01 10:00:03"}
-- {"id": 4, "price": 30, "ts": "2024-01-01 10:00:09"}
-- {"id": 5, "price": 70, "ts": "2024-01-01 10:00:11"}
-- {"id": 6, "price": 20, "ts": "2024-01-01 10:00:12"}
-- {"id": 7, "price": 15, "ts": "2024-01-01 10:00:14"}
-- {"id": 8, "price": 25, "ts": "2024-01-01 10:00:18"}
-- {"id": 9, "price": 60, "ts": "2024-01-01 10:00:31"}
-- {"id": 10, "price": 60, "ts": "2024-01-01 10:01:30"}
CREATE TABLE ticks (id INT, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/ticks.json');
CREATE VIEW found AS SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts
  MEASURES A.id AS first_id, C.id AS last_id, MATCH_ROWTIME() AS found_at, C.ts AS last_at
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B+? C)
  DEFINE B AS B.price < 50, C AS C.price > A.price AND C.price < 42
);
SELECT window_start, first_id, last_id, found_at, last_at
FROM TABLE(TUMBLE(TABLE found, DESCRIPTOR(found_at), INTERVAL '10' SECOND));
-- table
-- [2024-01-01 10:00:10.000, 2, 4, 2024-01-01 10:00:11.000, 2024-01-01 10:00:09.000]
-- [2024-01-01 10:00:30.000, 6, 8, 2024-01-01 10:00:31.000, 2024-01-01 10:00:18.000]
-- changes
-- +I[2024-01-01 10:00:10.000, 2, 4, 2024-01-01 10:00:11.000, 2024-01-01 10:00:09.000]
-- +I[2024-01-01 10:00:30.000, 6, 8, 2024-01-01 10:00:31.000, 2024-01-01 10:00:18.000]
