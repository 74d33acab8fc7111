SELECT DISTINCT p.id, p.name,
  make_timestamp(epoch_ms(p."dateTime") // 10000 * 10000 * 1000) AS window_start
FROM person AS p JOIN auction AS a
  ON p.id = a.seller AND epoch_ms(p."dateTime") // 10000 = epoch_ms(a."dateTime") // 10000
