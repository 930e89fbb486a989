-- Leaderboards.  What games wrote stands as it came, without the NULs it was padded with; beside it what people may be shown:
-- cleaned, and valid UTF-8.
CREATE TABLE boards (
	id              INTEGER PRIMARY KEY,
	title           BLOB NOT NULL CHECK (length(title) BETWEEN 1 AND 12),     -- of the game
	number          INTEGER NOT NULL CHECK (number BETWEEN 0 AND 4294967295), -- the game's, for this board
	lower_is_better INTEGER NOT NULL CHECK (lower_is_better IN (0, 1)),       -- as the first score said
	title_text      TEXT NOT NULL CHECK (length(title_text) <= 12),           -- for people
	UNIQUE (title, number)
) STRICT;

-- The best score of each player.  Nobody proves who he is: whoever uses a name has its row.
CREATE TABLE scores (
	board        INTEGER NOT NULL REFERENCES boards (id),
	folded       BLOB NOT NULL CHECK (length(folded) <= 16),      -- the player's name, A to Z in lower case
	name         BLOB NOT NULL CHECK (length(name) <= 16),        -- the same as it was written with this score
	score        INTEGER NOT NULL,
	comment      BLOB NOT NULL CHECK (length(comment) <= 64),
	recorded_ms  INTEGER NOT NULL,
	seq          INTEGER NOT NULL CHECK (seq > 0),                -- counts scores of all boards: of equal ones the first leads
	name_text    TEXT NOT NULL CHECK (length(name_text) <= 16),   -- for people
	comment_text TEXT NOT NULL CHECK (length(comment_text) <= 64), -- for people
	PRIMARY KEY (board, folded)
) STRICT, WITHOUT ROWID;
