#!/bin/sh
# Enter the cgroups named in JOBMETER_BENCH_JOIN (cgroup.procs files, blank-separated), then become the command.
# A shell costs under 1 ms before the job is inside; a Python script that joined by itself would leave its
# interpreter's start-up (about 15 ms) outside the truth. A join that fails must not look like a job that
# used nothing: exit 99.
for procs in $JOBMETER_BENCH_JOIN; do
    echo 0 >"$procs" || exit 99
done
unset JOBMETER_BENCH_JOIN
exec "$@"
