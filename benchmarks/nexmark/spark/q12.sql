-- The bids of each bidder in ten seconds of the clock.
SELECT bidder, COUNT(*) AS bids, window.start AS window_start, window.end AS window_end
FROM (SELECT *, current_timestamp() AS p_time FROM bid)
GROUP BY bidder, window(p_time, '10 seconds')
