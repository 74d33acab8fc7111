-- A bid is in the five windows whose ends, two seconds apart, follow it within ten seconds.
WITH counts AS (
  SELECT auction, COUNT(*) AS num, window_end
  FROM (
    SELECT auction,
      make_timestamp((epoch_ms("dateTime") // 2000 + 1 + step) * 2000 * 1000) AS window_end
    FROM bid, range(5) AS steps(step)
  )
  GROUP BY auction, window_end
)
SELECT auction, num, window_end
FROM counts
QUALIFY num = MAX(num) OVER (PARTITION BY window_end)
