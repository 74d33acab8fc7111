-- Sessions: how many bids each bidder made before a pause of ten seconds.
SELECT bidder, COUNT(*) AS bids, SESSION_START(`dateTime`, INTERVAL '10' SECOND) AS starts,
  SESSION_END(`dateTime`, INTERVAL '10' SECOND) AS ends
FROM bid
GROUP BY bidder, SESSION(`dateTime`, INTERVAL '10' SECOND)
