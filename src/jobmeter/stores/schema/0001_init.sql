-- run_id leads every key, so that the same tables distribute and partition by run.
-- Columns of values have no type on purpose: whole numbers stay whole beyond 2^53.
CREATE TABLE run (
    run_id TEXT NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at REAL,
    final INTEGER NOT NULL,
    fields BLOB NOT NULL,
    brief BLOB NOT NULL,
    detail BLOB NOT NULL
);
CREATE INDEX run_by_start ON run (started_at DESC, run_id DESC);
CREATE INDEX run_unfinished ON run (run_id) WHERE final = 0;

CREATE TABLE source (
    run_id TEXT NOT NULL,
    file TEXT NOT NULL,
    byte_offset INTEGER NOT NULL,
    bad_lines INTEGER NOT NULL,
    PRIMARY KEY (run_id, file)
) WITHOUT ROWID;

CREATE TABLE series (
    series_id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    instance TEXT NOT NULL,
    UNIQUE (run_id, key, instance)
);

-- times and spans are shared by all series sampled together
CREATE TABLE axis (
    axis_id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    blob BLOB NOT NULL
);
CREATE INDEX axis_by_run ON axis (run_id);

CREATE TABLE chunk (
    chunk_id INTEGER PRIMARY KEY,
    series_id INTEGER NOT NULL,
    t0 REAL NOT NULL,
    t1 REAL NOT NULL,
    n INTEGER NOT NULL,
    measured INTEGER NOT NULL, -- points that are numbers: n less the NaN
    low,
    high,
    total,
    last,
    times_id INTEGER NOT NULL,
    spans_id INTEGER,
    blob BLOB NOT NULL
);
CREATE INDEX chunk_by_series ON chunk (series_id, t0);

CREATE TABLE tail (
    run_id TEXT NOT NULL,
    stream TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    windows INTEGER NOT NULL,
    blob BLOB NOT NULL,
    PRIMARY KEY (run_id, stream, sequence)
);

CREATE TABLE process (
    run_id TEXT NOT NULL,
    instance TEXT NOT NULL,
    pid INTEGER NOT NULL,
    windows INTEGER NOT NULL,
    first_seen REAL NOT NULL,
    last_seen REAL NOT NULL,
    command TEXT,
    cpu_seconds REAL,
    peak_rss_bytes INTEGER,
    read_bytes INTEGER,
    write_bytes INTEGER,
    PRIMARY KEY (run_id, instance)
);

CREATE TABLE event (
    run_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    timestamp REAL NOT NULL,
    type TEXT NOT NULL,
    document BLOB NOT NULL,
    PRIMARY KEY (run_id, sequence)
);
