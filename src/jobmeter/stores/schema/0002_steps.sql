-- What a reader of text must know to go on where it stopped, as JSON.
ALTER TABLE source ADD COLUMN state TEXT NOT NULL DEFAULT '';

-- Runs that ended before steps were indexed are looked at once more.
UPDATE run SET final = 0;

-- One writer, source and rank: rows in the order they were written.
CREATE TABLE step_stream (
    stream_id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    writer TEXT NOT NULL,
    source TEXT NOT NULL,
    rank INTEGER NOT NULL,
    UNIQUE (run_id, writer, source, rank)
);

CREATE TABLE step_block (
    block_id INTEGER PRIMARY KEY,
    stream_id INTEGER NOT NULL,
    n INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    low_step INTEGER NOT NULL,
    high_step INTEGER NOT NULL,
    t0 REAL, -- the first and the last row that have a time, and their steps
    t0_step INTEGER,
    t1 REAL,
    t1_step INTEGER,
    advanced INTEGER NOT NULL, -- steps and seconds in which the loop went forward
    advancing_seconds REAL NOT NULL,
    steps BLOB NOT NULL,
    times BLOB
);
CREATE INDEX step_block_by_stream ON step_block (stream_id, block_id);

-- One metric in a block. The headers answer summaries: their pages hold no values.
CREATE TABLE step_chunk (
    chunk_id INTEGER PRIMARY KEY,
    block_id INTEGER NOT NULL,
    metric TEXT NOT NULL,
    n INTEGER NOT NULL,
    finite INTEGER NOT NULL,
    low,
    high,
    first,
    last,
    places BLOB, -- rows of the block that have the metric; null is all of them
    blob BLOB NOT NULL
);
CREATE UNIQUE INDEX step_chunk_by_block ON step_chunk (block_id, metric);

CREATE TABLE step_tail (
    stream_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    n INTEGER NOT NULL,
    cells INTEGER NOT NULL,
    blob BLOB NOT NULL,
    PRIMARY KEY (stream_id, sequence)
);
