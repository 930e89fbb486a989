-- Days on which the server ran.  Expiry counts these rows, not the calendar: a machine that is off deletes nothing.
CREATE TABLE uptime_days (
	day       INTEGER PRIMARY KEY CHECK (day > 0), -- counted from 1; days on which the server did not run have no number
	first_ms  INTEGER NOT NULL,                    -- when the day was noted
	last_ms   INTEGER NOT NULL,                    -- the last time known on that day: what a changed clock is noticed by
	marked_to INTEGER CHECK (marked_to < day)      -- codes last used on this day or before are marked for removal
) STRICT;
