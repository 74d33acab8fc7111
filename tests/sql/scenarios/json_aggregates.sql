-- JSON of groups, with rows that are taken back.
-- file upd.json
-- {"op": "c", "before": null, "after": {"k": "a", "n": 10, "ts": "2024-01-01 10:00:01"}}
-- {"op": "c", "before": null, "after": {"k": "b", "n": 20, "ts": "2024-01-01 10:00:02"}}
-- {"op": "c", "before": null, "after": {"k": "b", "n": 22, "ts": "2024-01-01 10:00:03"}}
-- {"op": "u", "before": {"k": "b", "n": 20, "ts": "2024-01-01 10:00:02"}, "after": {"k": "b", "n": 21, "ts": "2024-01-01 10:00:04"}}
-- {"op": "d", "before": {"k": "a", "n": 10, "ts": "2024-01-01 10:00:01"}, "after": null}
-- {"op": "c", "before": null, "after": {"k": "c", "n": 30, "ts": "2024-01-01 10:00:14"}}
-- {"op": "d", "before": {"k": "c", "n": 30, "ts": "2024-01-01 10:00:14"}, "after": null}
-- {"op": "c", "before": null, "after": {"k": "b", "n": 5, "ts": "2024-01-01 10:00:15"}}
-- {"op": "d", "before": {"k": "d", "n": 7, "ts": "2024-01-01 10:00:16"}, "after": null}
-- {"op": "u", "before": {"k": "b", "n": 5, "ts": "2024-01-01 10:00:15"}, "after": {"k": "b", "n": 6, "ts": "2024-01-01 10:00:25"}}
-- {"op": "c", "before": null, "after": {"k": "b", "n": 7, "ts": "2024-01-01 10:01:25"}}
CREATE TABLE upd (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'debezium-json', 'path' = '$DIR/upd.json');
SELECT k, JSON_ARRAYAGG(n) AS a, JSON_OBJECTAGG(KEY CAST(n AS STRING) VALUE n) AS o, JSON_ARRAYAGG(NULLIF(n, 22) NULL ON NULL) AS w,
  JSON_ARRAYAGG(JSON_OBJECT(KEY 'n' VALUE n)) AS r
FROM upd WHERE k = 'b' GROUP BY k;
-- table
-- [b, [22,21,6,7], {"21":21,"22":22,"6":6,"7":7}, [null,21,6,7], [{"n":22},{"n":21},{"n":6},{"n":7}]]
-- changes
-- +I[b, [20], {"20":20}, [20], [{"n":20}]]
-- -U[b, [20], {"20":20}, [20], [{"n":20}]]
-- +U[b, [20,22], {"20":20,"22":22}, [20,null], [{"n":20},{"n":22}]]
-- -U[b, [20,22], {"20":20,"22":22}, [20,null], [{"n":20},{"n":22}]]
-- +U[b, [22], {"22":22}, [null], [{"n":22}]]
-- -U[b, [22], {"22":22}, [null], [{"n":22}]]
-- +U[b, [22,21], {"21":21,"22":22}, [null,21], [{"n":22},{"n":21}]]
-- -U[b, [22,21], {"21":21,"22":22}, [null,21], [{"n":22},{"n":21}]]
-- +U[b, [22,21,5], {"21":21,"22":22,"5":5}, [null,21,5], [{"n":22},{"n":21},{"n":5}]]
-- -U[b, [22,21,5], {"21":21,"22":22,"5":5}, [null,21,5], [{"n":22},{"n":21},{"n":5}]]
-- +U[b, [22,21], {"21":21,"22":22}, [null,21], [{"n":22},{"n":21}]]
-- -U[b, [22,21], {"21":21,"22":22}, [null,21], [{"n":22},{"n":21}]]
-- +U[b, [22,21,6], {"21":21,"22":22,"6":6}, [null,21,6], [{"n":22},{"n":21},{"n":6}]]
-- -U[b, [22,21,6], {"21":21,"22":22,"6":6}, [null,21,6], [{"n":22},{"n":21},{"n":6}]]
-- +U[b, [22,21,6,7], {"21":21,"22":22,"6":6,"7":7}, [null,21,6,7], [{"n":22},{"n":21},{"n":6},{"n":7}]]
-- refused in batch
-- INSERT-only table sources
