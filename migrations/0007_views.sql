-- What people read with sqlite3 -readonly: ids in hex, times in UTC.
CREATE VIEW games AS
SELECT code,
       version,
       lower(hex(player)) AS host, -- empty for version 1, whose hosts have no id
       (SELECT count(*) FROM live_friends f WHERE f.code = g.code) AS friends,
       datetime(made_ms / 1000, 'unixepoch') AS made
FROM live_games g
ORDER BY made_ms;

CREATE VIEW player_list AS
SELECT lower(hex(p.id)) AS player,
       c.code,
       datetime(c.used_ms / 1000, 'unixepoch') AS used,
       iif(c.joined, 'yes', 'no') AS joined, -- whether friends ever came
       iif(c.used_day <= (SELECT max(marked_to) FROM uptime_days), 'yes', 'no') AS marked -- goes in some days
FROM players p
LEFT JOIN codes c ON c.player = p.id;
