-- What a process is in a distributed job and in a training; null where nothing says so.
ALTER TABLE process ADD COLUMN rank INTEGER;
ALTER TABLE process ADD COLUMN role TEXT;
ALTER TABLE process ADD COLUMN world_size INTEGER;
CREATE INDEX process_by_rank ON process (run_id, rank, world_size) WHERE rank IS NOT NULL;

-- The recorders of one job are found by the job's name.
CREATE INDEX run_by_job ON run (job_id);
