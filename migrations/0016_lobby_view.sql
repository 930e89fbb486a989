-- What people read with sqlite3 -readonly: ids in hex, times in UTC.
CREATE VIEW lobby_list AS
SELECT lower(hex(id)) AS lobby,
       name,
       game,
       proto,
       world,
       players,
       players_max,
       iif(listed, 'yes', 'no') AS listed,
       iif(locked, 'yes', 'no') AS locked,
       iif(direct_addr <> '', 'yes', 'no') AS direct,
       iif(proved, 'yes', 'no') AS proved, -- whether the host showed that it holds its key
       lower(hex(identity)) AS host,
       datetime(made_ms / 1000, 'unixepoch') AS made,
       datetime(beat_ms / 1000, 'unixepoch') AS beat -- the host's last sign of life, written some seconds late
FROM lobbies;
