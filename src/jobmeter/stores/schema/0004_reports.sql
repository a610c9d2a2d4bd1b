-- What analysis said of a run, with what it was made of: valid while rules and inputs are the same.
CREATE TABLE report (
    run_id TEXT NOT NULL PRIMARY KEY,
    rules TEXT NOT NULL,
    inputs TEXT NOT NULL,
    document BLOB NOT NULL
);

-- Runs of the same work are found by its key; those indexed before there were keys are looked at once more.
ALTER TABLE run ADD COLUMN job_key TEXT NOT NULL DEFAULT '';
UPDATE run SET final = 0;
CREATE INDEX run_by_key ON run (job_key, started_at);
