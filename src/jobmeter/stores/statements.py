"""The SQL of runs, their events, processes and positions; that of points and steps stands with their codecs."""

from jobmeter.stores import listed, sqlite_steps

RUN_PUT = """INSERT INTO run
        (run_id, job_id, status, started_at, final, fields, brief, detail, job_key)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (run_id) DO UPDATE SET job_id = excluded.job_id, status = excluded.status,
        started_at = excluded.started_at, final = excluded.final, job_key = excluded.job_key,
        fields = excluded.fields, brief = excluded.brief, detail = excluded.detail"""
RUN_IDS = "SELECT run_id FROM run"
RUN_UNFINISHED = "SELECT run_id, status FROM run WHERE final = 0 ORDER BY run_id"
RUN_BRIEFS = """SELECT brief FROM run
    ORDER BY started_at DESC NULLS LAST, run_id DESC LIMIT ?"""
RUN_FIELDS = """SELECT run.run_id, run.fields, listed.cause FROM run JOIN listed ON listed.run_id = run.run_id
    ORDER BY run.started_at DESC NULLS LAST, run.run_id DESC"""
RUN_SUMMARIES = "SELECT run_id, brief FROM run"
RUN_ONE = "SELECT brief, detail FROM run WHERE run_id = ?"
RUN_PREFIX = """SELECT run_id FROM run WHERE substr(run_id, 1, length(?1)) = ?1
    ORDER BY started_at DESC NULLS LAST, run_id DESC LIMIT ?2"""
RUN_OF_JOB = """SELECT run_id FROM run WHERE job_id = ?
    ORDER BY started_at DESC NULLS LAST, run_id DESC"""
RUN_OF_KEY = """SELECT run_id FROM run WHERE job_key = ? AND job_key <> ''
    ORDER BY started_at DESC NULLS LAST, run_id DESC LIMIT coalesce(?, -1)"""
REPORT_READ = "SELECT rules, inputs, document, cause FROM report WHERE run_id = ?"
REPORT_PUT = """INSERT INTO report (run_id, rules, inputs, document, cause) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (run_id) DO UPDATE SET rules = excluded.rules, inputs = excluded.inputs,
        document = excluded.document, cause = excluded.cause"""
SOURCE_READ = "SELECT file, byte_offset, bad_lines, state FROM source WHERE run_id = ?"
SOURCE_PUT = """INSERT INTO source (run_id, file, byte_offset, bad_lines, state) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (run_id, file) DO UPDATE SET
        byte_offset = excluded.byte_offset, bad_lines = excluded.bad_lines, state = excluded.state"""
EVENT_LAST = "SELECT coalesce(max(sequence), 0) FROM event WHERE run_id = ?"
EVENT_ADD = "INSERT INTO event (run_id, sequence, timestamp, type, document) VALUES (?, ?, ?, ?, ?)"
EVENT_READ = "SELECT document FROM event WHERE run_id = ? ORDER BY sequence"
PROCESS_ADD = """INSERT INTO process (run_id, instance, pid, windows, first_seen, last_seen, command,
        cpu_seconds, peak_rss_bytes, read_bytes, write_bytes, rank, role, world_size)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (run_id, instance) DO UPDATE SET
        windows = windows + excluded.windows,
        first_seen = min(first_seen, excluded.first_seen),
        last_seen = max(last_seen, excluded.last_seen),
        command = coalesce(excluded.command, command),
        cpu_seconds = coalesce(cpu_seconds + excluded.cpu_seconds, cpu_seconds, excluded.cpu_seconds),
        peak_rss_bytes = coalesce(max(peak_rss_bytes, excluded.peak_rss_bytes),
                                  peak_rss_bytes, excluded.peak_rss_bytes),
        read_bytes = coalesce(read_bytes + excluded.read_bytes, read_bytes, excluded.read_bytes),
        write_bytes = coalesce(write_bytes + excluded.write_bytes, write_bytes, excluded.write_bytes),
        rank = coalesce(excluded.rank, rank),
        role = coalesce(excluded.role, role),
        world_size = coalesce(excluded.world_size, world_size)"""
PROCESS_READ = """SELECT instance, windows, first_seen, last_seen, command, cpu_seconds, peak_rss_bytes,
        read_bytes, write_bytes, rank, role, world_size
    FROM process WHERE run_id = ?"""
PROCESS_RANKS = "SELECT DISTINCT rank, world_size FROM process WHERE run_id = ? AND rank IS NOT NULL"
FORGET = (
    *listed.FORGET,
    *sqlite_steps.FORGET,
    "DELETE FROM chunk WHERE series_id IN (SELECT series_id FROM series WHERE run_id = ?)",
    "DELETE FROM series WHERE run_id = ?",
    "DELETE FROM axis WHERE run_id = ?",
    "DELETE FROM tail WHERE run_id = ?",
    "DELETE FROM process WHERE run_id = ?",
    "DELETE FROM event WHERE run_id = ?",
    "DELETE FROM report WHERE run_id = ?",
    "DELETE FROM source WHERE run_id = ?",
    "DELETE FROM run WHERE run_id = ?",
)
