-- Holds the place of a migration from another branch.
SELECT 1;
