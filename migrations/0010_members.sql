-- Who may use a campaign besides its owner, and who may not be put back by a text that names him.
CREATE TABLE members (
	campaign INTEGER NOT NULL REFERENCES campaigns (number) ON DELETE CASCADE,
	player   BLOB NOT NULL CHECK (length(player) = 8),
	state    INTEGER NOT NULL CHECK (state IN (0, 1, 2)), -- 0: member, 1: left, 2: removed by the owner
	used     INTEGER NOT NULL CHECK (used IN (0, 1)),     -- he loaded or stored it
	PRIMARY KEY (campaign, player)
) STRICT, WITHOUT ROWID;

CREATE INDEX members_by_player ON members (player, state);
