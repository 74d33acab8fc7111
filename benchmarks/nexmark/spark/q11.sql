-- Sessions: how many bids each bidder made before a pause of ten seconds.
SELECT bidder, COUNT(*) AS bids, session_window.start AS starts, session_window.end AS ends
FROM bid GROUP BY bidder, session_window(`dateTime`, '10 seconds')
