-- run_no leads every key, so that the same tables distribute and partition by run. It stands for the run's id in all
-- tables but `run` and `source`: four bytes instead of twenty-four in every row and every index.
-- Text sorts by bytes, as in every other back end. Headers are numeric: whole numbers stay whole beyond 2^53.
-- What is compressed already is not compressed again. An ordered index takes no text of more than 2,700 bytes, and
-- names have no longest: they are found by their hashes.
CREATE TABLE run (
    run_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    origin text COLLATE "C" NOT NULL, -- the home whose server indexes the run
    job_id text COLLATE "C" NOT NULL,
    job_key text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    started_at double precision,
    final boolean NOT NULL,
    fields bytea NOT NULL,
    brief bytea NOT NULL,
    detail bytea NOT NULL
) WITH (fillfactor = 80);
ALTER TABLE run ALTER COLUMN detail SET STORAGE EXTERNAL;
CREATE INDEX run_by_start ON run (started_at DESC NULLS LAST, run_id DESC);
CREATE INDEX run_unfinished ON run (origin, run_id) WHERE NOT final;
CREATE INDEX run_by_origin ON run (origin, run_id);
CREATE INDEX run_by_job ON run USING hash (job_id);
CREATE INDEX run_by_key ON run USING hash (job_key) WHERE job_key <> '';

-- One narrow row a run: what lists are filtered, sorted and counted by, so that no document is read for it.
-- A text has a second column in lower case, null where that is the same. Texts that are counted are short.
CREATE TABLE listed (
    run_id text COLLATE "C" NOT NULL PRIMARY KEY,
    id_folded text COLLATE "C" NOT NULL,
    started_at double precision,
    cause text COLLATE "C", -- what analysis said; not of the folder
    cause_folded text COLLATE "C",
    command text COLLATE "C",
    command_folded text COLLATE "C",
    "group" text COLLATE "C",
    group_folded text COLLATE "C",
    host text COLLATE "C",
    host_folded text COLLATE "C",
    job_id text COLLATE "C",
    job_id_folded text COLLATE "C",
    name text COLLATE "C",
    name_folded text COLLATE "C",
    origin text COLLATE "C",
    origin_folded text COLLATE "C",
    project text COLLATE "C",
    project_folded text COLLATE "C",
    signal text COLLATE "C",
    signal_folded text COLLATE "C",
    status text COLLATE "C",
    status_folded text COLLATE "C",
    "user" text COLLATE "C",
    user_folded text COLLATE "C",
    cores numeric,
    cpu_seconds numeric,
    disk numeric,
    ended numeric,
    energy numeric,
    exit_code numeric,
    gpu_memory numeric,
    gpu_util numeric,
    io_read numeric,
    io_write numeric,
    memory_limit numeric,
    memory_peak numeric,
    ranks numeric,
    samples numeric,
    steps_count numeric,
    steps_last_step numeric,
    steps_per_second numeric,
    throughput numeric,
    wall numeric,
    world_size numeric
) WITH (fillfactor = 80);
CREATE INDEX listed_by_start ON listed (started_at DESC NULLS LAST, run_id DESC);
CREATE INDEX listed_by_cause ON listed (cause);
CREATE INDEX listed_by_host ON listed (host);
CREATE INDEX listed_by_job ON listed (job_id);
CREATE INDEX listed_by_name ON listed (name);
CREATE INDEX listed_by_project ON listed (project);
CREATE INDEX listed_by_status ON listed (status);
CREATE INDEX listed_by_user ON listed ("user");

CREATE TABLE run_tag (
    run_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL
);
CREATE INDEX run_tag_by_run ON run_tag (run_id);
CREATE INDEX run_tag_by_value ON run_tag USING hash (value);

-- Homes that hold a run which another home indexes.
CREATE TABLE copy (
    origin text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (origin, run_id)
);

CREATE TABLE source (
    run_id text COLLATE "C" NOT NULL,
    file text COLLATE "C" NOT NULL,
    byte_offset bigint NOT NULL,
    bad_lines bigint NOT NULL,
    state text NOT NULL
);
CREATE UNIQUE INDEX source_by_run ON source (run_id, hashtextextended(file, 0));

CREATE TABLE series (
    run_no integer NOT NULL,
    series_no integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    instance text COLLATE "C" NOT NULL,
    PRIMARY KEY (run_no, series_no)
);

-- times and spans are shared by all series sampled together
CREATE TABLE axis (
    run_no integer NOT NULL,
    axis_no integer NOT NULL,
    blob bytea NOT NULL,
    PRIMARY KEY (run_no, axis_no)
);
ALTER TABLE axis ALTER COLUMN blob SET STORAGE EXTERNAL;

-- Axes are numbered as they are written, so a series' chunks are in order by the number of their times.
CREATE TABLE chunk (
    run_no integer NOT NULL,
    series_no integer NOT NULL,
    times_no integer NOT NULL,
    spans_no integer,
    n integer NOT NULL,
    measured integer NOT NULL, -- points that are numbers: n less the NaN
    t0 double precision NOT NULL,
    t1 double precision NOT NULL,
    low numeric NOT NULL,
    high numeric NOT NULL,
    total numeric NOT NULL,
    last numeric NOT NULL,
    blob bytea NOT NULL,
    figures bytea, -- of a counter's rate
    PRIMARY KEY (run_no, series_no, times_no)
);
ALTER TABLE chunk ALTER COLUMN blob SET STORAGE EXTERNAL;

CREATE TABLE tail (
    run_no integer NOT NULL,
    stream text COLLATE "C" NOT NULL,
    sequence integer NOT NULL,
    windows integer NOT NULL,
    blob bytea NOT NULL
);
CREATE INDEX tail_by_run ON tail (run_no, sequence);
ALTER TABLE tail ALTER COLUMN blob SET STORAGE EXTERNAL;

CREATE TABLE process (
    run_no integer NOT NULL,
    instance text COLLATE "C" NOT NULL,
    pid bigint NOT NULL,
    windows integer NOT NULL,
    first_seen double precision NOT NULL,
    last_seen double precision NOT NULL,
    command text,
    cpu_seconds double precision,
    peak_rss_bytes bigint,
    read_bytes bigint,
    write_bytes bigint,
    rank bigint,
    role text,
    world_size bigint
);
CREATE UNIQUE INDEX process_by_run ON process (run_no, hashtextextended(instance, 0));
CREATE INDEX process_by_rank ON process (run_no, rank, world_size) WHERE rank IS NOT NULL;

CREATE TABLE event (
    run_no integer NOT NULL,
    sequence integer NOT NULL,
    timestamp double precision NOT NULL,
    type text NOT NULL,
    document bytea NOT NULL,
    PRIMARY KEY (run_no, sequence)
);

-- One writer, source and rank: rows in the order they were written.
CREATE TABLE step_stream (
    run_no integer NOT NULL,
    stream_no integer NOT NULL,
    writer text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    rank bigint NOT NULL,
    PRIMARY KEY (run_no, stream_no)
);

CREATE TABLE step_block (
    run_no integer NOT NULL,
    stream_no integer NOT NULL,
    block_no integer NOT NULL,
    n integer NOT NULL,
    first_step bigint NOT NULL,
    last_step bigint NOT NULL,
    low_step bigint NOT NULL,
    high_step bigint NOT NULL,
    t0 double precision, -- the first and the last row that have a time, and their steps
    t0_step bigint,
    t1 double precision,
    t1_step bigint,
    advanced bigint NOT NULL, -- steps and seconds in which the loop went forward
    advancing_seconds double precision NOT NULL,
    steps bytea NOT NULL,
    times bytea,
    PRIMARY KEY (run_no, stream_no, block_no)
);
ALTER TABLE step_block ALTER COLUMN steps SET STORAGE EXTERNAL, ALTER COLUMN times SET STORAGE EXTERNAL;

-- One metric in a block; the numbers of blocks are the run's, not the stream's.
CREATE TABLE step_chunk (
    run_no integer NOT NULL,
    block_no integer NOT NULL,
    metric text COLLATE "C" NOT NULL,
    n integer NOT NULL,
    finite integer NOT NULL,
    low numeric NOT NULL,
    high numeric NOT NULL,
    first numeric NOT NULL,
    last numeric NOT NULL,
    places bytea, -- rows of the block that have the metric; null is all of them
    blob bytea NOT NULL,
    figures bytea -- of parts of the values
);
CREATE INDEX step_chunk_by_block ON step_chunk (run_no, block_no);
ALTER TABLE step_chunk ALTER COLUMN places SET STORAGE EXTERNAL, ALTER COLUMN blob SET STORAGE EXTERNAL;

CREATE TABLE step_tail (
    run_no integer NOT NULL,
    stream_no integer NOT NULL,
    sequence integer NOT NULL,
    n integer NOT NULL,
    cells integer NOT NULL,
    blob bytea NOT NULL,
    PRIMARY KEY (run_no, stream_no, sequence)
);
ALTER TABLE step_tail ALTER COLUMN blob SET STORAGE EXTERNAL;

-- What analysis said of a run, with what it was made of: valid while rules and inputs are the same.
CREATE TABLE report (
    run_no integer NOT NULL PRIMARY KEY,
    rules text NOT NULL,
    inputs text NOT NULL,
    document bytea NOT NULL,
    cause text NOT NULL
);
