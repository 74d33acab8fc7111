-- An address without a channel's number gives an empty text here, and NULL in Flink.
SELECT auction, bidder, price, channel,
  CASE LOWER(channel)
    WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
    ELSE regexp_extract(url, '&channel_id=([^&]*)', 1)
  END AS channel_id
FROM bid
WHERE url LIKE '%&channel_id=%' OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')
