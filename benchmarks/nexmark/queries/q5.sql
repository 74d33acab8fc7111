-- Hot items: the auctions with the most bids of the last ten seconds, every two seconds.
WITH counts AS (
  SELECT auction, COUNT(*) AS num, window_start, window_end
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
)
SELECT c.auction, c.num, c.window_end
FROM counts AS c
JOIN (
  SELECT MAX(num) AS most, window_start, window_end
  FROM counts
  GROUP BY window_start, window_end
) AS m ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.num >= m.most
