-- Currency conversion: every price in another currency.
SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price, `dateTime`, extra FROM bid
