-- A session begins with a bid that no other of the bidder's precedes by ten seconds or less.
WITH marked AS (
  SELECT bidder, epoch_ms("dateTime") AS ts,
    COALESCE(epoch_ms("dateTime") - LAG(epoch_ms("dateTime"))
      OVER (PARTITION BY bidder ORDER BY "dateTime") > 10000, TRUE) AS begins
  FROM bid
), numbered AS (
  SELECT bidder, ts,
    SUM(CAST(begins AS INT)) OVER (PARTITION BY bidder ORDER BY ts
      RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS session
  FROM marked
)
SELECT bidder, COUNT(*) AS bids, make_timestamp(MIN(ts) * 1000) AS starts,
  make_timestamp((MAX(ts) + 10000) * 1000) AS ends
FROM numbered
GROUP BY bidder, session
