-- Leaderboards and the scores on them.

-- name: board_make
INSERT INTO boards (title, number, lower_is_better, title_text)
VALUES (:title, :number, :lower_is_better, :title_text)
ON CONFLICT (title, number) DO NOTHING;

-- name: board_put
-- VALUES and not SELECT, which could write several rows: each such statement walks through all that a large job has changed
-- before it. There is no board 0: where the board is missing the reference is refused.
INSERT INTO scores (board, folded, name, score, comment, recorded_ms, seq, name_text, comment_text)
VALUES (coalesce((SELECT id FROM boards WHERE title = :title AND number = :number), 0),
        :folded, :name, :score, :comment, :recorded_ms, :seq, :name_text, :comment_text)
ON CONFLICT (board, folded) DO UPDATE
SET name = excluded.name, score = excluded.score, comment = excluded.comment, recorded_ms = excluded.recorded_ms,
    seq = excluded.seq, name_text = excluded.name_text, comment_text = excluded.comment_text;

-- name: board_drop
DELETE FROM scores
WHERE board = (SELECT id FROM boards WHERE title = :title AND number = :number) AND folded = :folded;

-- name: board_clear
-- The board itself stays: its order is what its first score said.
DELETE FROM scores
WHERE board = (SELECT id FROM boards WHERE title = :title AND number = :number);

-- name: board_each
SELECT title, number, lower_is_better FROM boards ORDER BY id;

-- name: board_each_row
-- In the order in which they lie in the file.
SELECT b.title, b.number, s.folded, s.name, s.score, s.comment, s.recorded_ms, s.seq
FROM scores s
CROSS JOIN boards b ON b.id = s.board
ORDER BY s.board, s.folded;
