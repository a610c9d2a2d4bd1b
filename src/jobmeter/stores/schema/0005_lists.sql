-- One narrow row a run: what lists are filtered, sorted and counted by, so that no document is read for it.
-- A text has a second column in lower case, null where that is the same.
CREATE TABLE listed (
    run_id TEXT NOT NULL PRIMARY KEY,
    id_folded TEXT NOT NULL,
    started_at REAL,
    cause TEXT, -- what analysis said; not of the folder
    cause_folded TEXT,
    command TEXT,
    command_folded TEXT,
    "group" TEXT,
    group_folded TEXT,
    host TEXT,
    host_folded TEXT,
    job_id TEXT,
    job_id_folded TEXT,
    name TEXT,
    name_folded TEXT,
    origin TEXT,
    origin_folded TEXT,
    project TEXT,
    project_folded TEXT,
    signal TEXT,
    signal_folded TEXT,
    status TEXT,
    status_folded TEXT,
    user TEXT,
    user_folded TEXT,
    cores,
    cpu_seconds,
    disk,
    ended,
    energy,
    exit_code,
    gpu_memory,
    gpu_util,
    io_read,
    io_write,
    memory_limit,
    memory_peak,
    ranks,
    samples,
    steps_count,
    steps_last_step,
    steps_per_second,
    throughput,
    wall,
    world_size
) WITHOUT ROWID;

INSERT INTO listed (run_id, id_folded, started_at, command, command_folded, "group", host, job_id, job_id_folded,
    name, name_folded, origin, project, project_folded, signal, signal_folded, status, user, cores, cpu_seconds, disk,
    ended, energy, exit_code, gpu_memory, gpu_util, io_read, io_write, memory_limit, memory_peak, ranks, samples,
    steps_count, steps_last_step, steps_per_second, wall, world_size)
SELECT run_id, lower(run_id), started_at,
    f ->> 'command', nullif(lower(f ->> 'command'), f ->> 'command'), f ->> 'group', f ->> 'host',
    f ->> 'job_id', nullif(lower(f ->> 'job_id'), f ->> 'job_id'),
    f ->> 'name', nullif(lower(f ->> 'name'), f ->> 'name'), f ->> 'origin',
    f ->> 'project', nullif(lower(f ->> 'project'), f ->> 'project'),
    f ->> 'signal', nullif(lower(f ->> 'signal'), f ->> 'signal'), f ->> 'status', f ->> 'user',
    f ->> 'cores', f ->> 'cpu_seconds', f ->> 'disk', f ->> 'ended', f ->> 'energy', f ->> 'exit_code',
    f ->> 'gpu_memory', f ->> 'gpu_util', f ->> 'io_read', f ->> 'io_write', f ->> 'memory_limit',
    f ->> 'memory_peak', f ->> 'ranks', f ->> 'samples', f ->> '$."steps.count"',
    f ->> '$."steps.last_step"', f ->> '$."steps.per_second"', f ->> 'wall', f ->> 'world_size'
FROM (SELECT run_id, started_at, CAST(fields AS TEXT) AS f FROM run);

CREATE INDEX listed_by_start ON listed (started_at DESC, run_id DESC);
CREATE INDEX listed_by_cause ON listed (cause);
CREATE INDEX listed_by_host ON listed (host);
CREATE INDEX listed_by_job ON listed (job_id);
CREATE INDEX listed_by_name ON listed (name);
CREATE INDEX listed_by_project ON listed (project);
CREATE INDEX listed_by_status ON listed (status);
CREATE INDEX listed_by_user ON listed (user);
-- The fastest first, and all that is added up for the summary of a home.
CREATE INDEX listed_by_throughput
    ON listed (throughput, started_at, run_id, wall, steps_count, gpu_util, gpu_memory);

CREATE TABLE run_tag (
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    run_id TEXT NOT NULL,
    PRIMARY KEY (key, value, run_id)
) WITHOUT ROWID;
CREATE INDEX run_tag_by_run ON run_tag (run_id);
INSERT INTO run_tag (key, value, run_id)
SELECT substr(field.key, 5), field.value, run.run_id
FROM run, json_each(CAST(run.fields AS TEXT)) AS field WHERE substr(field.key, 1, 4) = 'tag.';

-- Figures for charts that the columns do not tell: of a counter's rate, and of parts of a metric's values.
ALTER TABLE chunk ADD COLUMN figures BLOB;
ALTER TABLE step_chunk ADD COLUMN figures BLOB;

-- What a report gives as the cause: those made before there was this column are made anew.
DELETE FROM report;
ALTER TABLE report ADD COLUMN cause TEXT NOT NULL DEFAULT '';

-- Fields that are new are found by looking at every run once more.
UPDATE run SET final = 0;
