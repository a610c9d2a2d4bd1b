"""`jobmeter.init` among processes: ranks, forks, children, and the recorder of a training that has none."""

import os
import signal
import subprocess
from pathlib import Path

from jobmeter.runfolder import reader
from support.recorder import Home, lines, merged, only_folder, wait_for
from support.training import script, steps, told, train


def test_joining_adds_nothing_to_the_environment_of_the_job(home: Home) -> None:
    env = home.environ()
    done = home.run("-q", "env", env=env)
    assert not [line for line in done.stdout.decode().splitlines() if line.startswith("JOBMETER_RUN")]


def test_the_ranks_of_one_launch_join_one_run(home: Home) -> None:
    line = 'for rank in 0 1; do env WORLD_SIZE=2 LOCAL_RANK=$rank RANK=$rank "$@" & done; wait'
    done = home.run("-q", "sh", "-c", line, "sh", *script("jobmeter.init().log({'loss': 1.5})"))
    assert done.code == 0
    for rank in (0, 1):
        (record,) = steps(done.folder, f"steps.{rank}.jsonl")
        assert (record["rank"], record["metrics"]) == (rank, {"loss": 1.5})
        (init,) = told(done.folder, "init", f"sdk.{rank}.jsonl")
        assert (init["rank"], init["local_rank"], init["world_size"]) == (rank, rank, 2)
    assert not (done.folder / "steps.jsonl").exists()


def test_the_ranks_of_a_launch_alone_share_their_job(home: Home) -> None:
    launch = {"WORLD_SIZE": "2", "SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0"}
    for rank in ("0", "1"):
        train(home, "jobmeter.init().finish()", RANK=rank, LOCAL_RANK=rank, **launch)
    assert [merged(folder)["job_id"] for folder in home.folders()] == ["slurm-17.0"] * 2


def test_two_scripts_of_one_run_do_not_meet(home: Home) -> None:
    text = "jobmeter.init().log({'who': int(__import__('sys').argv[1])})"
    line = '"$@" 1 && "$@" 2'
    done = home.run("-q", "sh", "-c", line, "sh", *script(text))
    assert done.code == 0
    files = sorted(path.name for path in done.folder.glob("steps*"))
    assert files[0] == "steps.jsonl" or files[1] == "steps.jsonl"
    assert len(files) == 2
    assert sorted(record["metrics"]["who"] for name in files for record in steps(done.folder, name)) == [1, 2]


def test_a_child_started_anew_joins_its_parents_run(home: Home) -> None:
    text = """
    import subprocess, sys
    run = jobmeter.init()
    run.log({"who": 0})
    child = "import jobmeter; jobmeter.init().log({'who': 1})"
    subprocess.run([sys.executable, "-c", child], check=True)
    """
    done = train(home, text)
    (other,) = [path.name for path in done.folder.glob("steps.pid*.jsonl")]
    assert steps(done.folder, other)[0]["metrics"] == {"who": 1}
    assert steps(done.folder)[0]["metrics"] == {"who": 0}
    assert done.run["status"] == "completed"


def test_a_named_run_is_joined_where_no_ancestor_shows_it(home: Home, tmp_path: Path) -> None:
    first = train(home, "jobmeter.init().finish()")
    train(home, "jobmeter.init().log({'loss': 2})", JOBMETER_RUN=str(first.folder))
    assert home.folders() == [first.folder]
    assert len(list(first.folder.glob("steps.jsonl"))) == 1


def test_forked_workers_log_into_files_of_their_own(home: Home) -> None:
    text = """
    import os
    run = jobmeter.init(config={"a": 1})
    for step in range(3):
        run.log({"who": 0})
    run.log({"held": 1}, commit=False)
    children = []
    for number in (1, 2):
        pid = os.fork()
        if not pid:
            for step in range(2):
                run.log({"who": number})
            if number == 1:
                os._exit(0)
            raise SystemExit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    run.log({"who": 0})
    """
    done = train(home, text)
    assert [record["metrics"].get("who") for record in steps(done.folder)] == [0, 0, 0, 0]
    assert steps(done.folder)[-1]["metrics"] == {"who": 0, "held": 1}
    forked = sorted(done.folder.glob("steps.pid*.jsonl"))
    assert sorted([r["metrics"]["who"] for r in steps(done.folder, path.name)] for path in forked) == [
        [1, 1],
        [2, 2],
    ]
    assert len(told(done.folder, "finish")) == 1
    assert done.run["status"] == "completed"


def test_the_recorder_is_no_child_of_the_training_and_ends_with_it(home: Home) -> None:
    text = """
    import os, time
    run = jobmeter.init()
    try:
        print("child", os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("none", flush=True)
    input()
    os._exit(0)
    """
    process = subprocess.Popen(
        script(text), env=home.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "none\n"
    folder = only_folder(home.path)
    wait_for(lambda: len(lines(folder / "run.jsonl")) >= 3)
    recorder = merged(folder)["recorder"]["pid"]
    assert recorder != process.pid
    assert os.getsid(recorder) != os.getsid(process.pid)
    assert {os.readlink(f"/proc/{recorder}/fd/{fd}") for fd in (0, 1, 2)} == {"/dev/null"}
    os.kill(recorder, signal.SIGTERM)  # a batch system tells everybody: the recorder stays for the training
    process.communicate("\n")
    wait_for(lambda: merged(folder).get("type") == "end")
    assert merged(folder)["status"] == "completed"
    wait_for(lambda: not Path(f"/proc/{recorder}").exists())


def test_a_training_whose_recorder_was_killed_still_runs(home: Home) -> None:
    text = """
    import os
    run = jobmeter.init()
    run.log({"loss": 1.0})
    print("ready", flush=True)
    input()
    run.log({"loss": 2.0})
    """
    process = subprocess.Popen(
        script(text), env=home.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    folder = only_folder(home.path)
    wait_for(lambda: len(lines(folder / "run.jsonl")) >= 3)
    recorder = merged(folder)["recorder"]["pid"]
    os.kill(recorder, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{recorder}").exists())
    assert reader.read_run_and_finality(folder)[0].status.value == "running"
    assert not reader.read_run_and_finality(folder)[1]
    process.communicate("\n")
    run, final = reader.read_run_and_finality(folder)
    assert (process.returncode, run.status.value, final) == (0, "completed", True)
    assert len(steps(folder)) == 2


def test_a_training_without_descriptors_left_keeps_its_steps_unmeasured(home: Home) -> None:
    text = """
    import os, resource
    import jobmeter.hooks.session, jobmeter.hooks.resuming, jobmeter.runfolder.writer
    import jobmeter.recording.setup, jobmeter.probes.libc, _socket, fcntl
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    hogs = []
    from jobmeter.hooks import standalone
    begin = standalone.begin
    def hog(folder, options):
        begin(folder, options)
        while True:
            try: hogs.append(os.open("/dev/null", os.O_RDONLY))
            except OSError: break
        os.close(hogs.pop())
    standalone.begin = hog
    run = jobmeter.init()
    for fd in hogs: os.close(fd)
    run.log({"loss": 1.5})
    """
    done = train(home, text)
    assert done.err.startswith("jobmeter: no recorder could be started: steps are kept")
    assert [record["metrics"] for record in steps(done.folder)] == [{"loss": 1.5}]
