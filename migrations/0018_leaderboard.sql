-- What people read with sqlite3 -readonly: ranks as players see them, times in UTC.
CREATE VIEW leaderboard AS
SELECT b.title_text AS title,
       b.number AS board,
       row_number() OVER (
               PARTITION BY s.board
               ORDER BY iif(b.lower_is_better, s.score, NULL), iif(b.lower_is_better, NULL, s.score) DESC, s.seq
       ) AS rank,
       s.name_text AS name,
       s.score,
       s.comment_text AS comment,
       datetime(s.recorded_ms / 1000, 'unixepoch') AS recorded
FROM scores s
JOIN boards b ON b.id = s.board;
