"""Endings of builds, schedulers, containers and cut-off logs, in the shapes their tools give them."""

_GCC = "src/io.c: In function 'open_all':\nsrc/io.c:53:9: error: 'readdir_x' is deprecated [-Werror]\n"

BUILDS = {
    "make": f"{_GCC}make[1]: *** [rules.mk:50: io.o] Error 1\nmake: *** [Makefile:9: all] Error 2\n",
    "ninja": f"FAILED: io.o\ncc -c io.c -o io.o\n{_GCC}ninja: build stopped: subcommand failed.\n",
    "rust": "error[E0308]: mismatched types\n --> src/lib.rs:4:5\nerror: could not compile `tool` (lib) due to 1"
    " previous error\n",
    "gradle": "> Task :app:compileJava FAILED\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\n",
    "maven": "[ERROR] /src/A.java:[3,9] cannot find symbol\n[INFO] BUILD FAILURE\n[ERROR] BUILD FAILURE\n",
    "npm": "npm ERR! errno 1\nnpm ERR! Failed at the app@1.0.0 build script.\n",
    "pip-finds-nothing": "ERROR: No matching distribution found for jupyterlaab\n",
    "pip-wheel": "  src/x.c:9:10: fatal error: port.h: No such file or directory\n  compilation terminated.\n"
    "  error: command '/usr/bin/gcc' failed with exit code 1\n",
    "cmake": "CMake Error at CMakeLists.txt:12 (find_package):\n  Could not find a package\n",
    "pytest": "FAILED tests/test_a.py::test_b - assert 1 == 2\n===== 1 failed, 3 passed in 0.52s =====\n",
    "cargo-test": "test result: FAILED. 248 passed; 2 failed; 0 ignored\n\nerror: test failed, to rerun pass '--lib'\n",
    "after-the-tests": "===== 12 passed in 0.52s =====\nuploading\nERROR: No matching distribution found for twiner\n",
    "snakemake": "Exiting because a job execution failed. Look below for error messages\n",
    "step-of-a-failed-task": "srun: error: n2: task 3: Exited with exit code 1\nsrun: Terminating StepId=9.0\n"
    "slurmstepd: error: *** STEP 9.0 ON n1 CANCELLED AT 2025-03-01T00:00:01 ***\n",
}

KILLS = {
    "compiler": "c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n"
    "make[2]: *** [x.make:63: sim.cpp.o] Error 1\nmake: *** [all] Error 2\n",
    "old-compiler": "g++: internal compiler error: Killed (program cc1plus)\nmake: *** [all] Error 4\n",
    "linker": "collect2: fatal error: ld terminated with signal 9 [Getoetet]\nmake: *** [all] Error 1\n",
    "build-script": "error: failed to run custom build command for `syn v1.0.1`\n\nCaused by:\n  process didn't exit"
    " successfully: `/t/build-script-build` (signal: 9, SIGKILL: kill)\n",
    "bar": " 45%|####      | 123/274 [00:12<00:34,  3.20it/s]Killed\n",
    "bar-terminated": "clustering:  20% (117/558) [#    ] eta 28:34:54 \\Terminated\n",
    "make-terminated": "make: *** [Makefile:9: all] Terminated\n",
    "nextflow": "  Process `ALIGN (19)` terminated with an error exit status (137)\n",
    "container": "    Last State: Terminated\n      Reason: Error\n      Exit Code: 137\n",
    "compose": "ERROR: Service 'web' failed to build: The command '/bin/sh -c make' returned a non-zero code: 137\n",
    "gunicorn": "[2023-08-22 21:53:21 +0200] [171] [ERROR] Worker (pid:256) was sent SIGKILL! Perhaps out of memory?\n",
    "allocation": "salloc: error: Job allocation 235 has been revoked\n",
    "task-crashed": "srun: error: n18: task 289: Bus error\nsrun: Terminating job step 34.0\n"
    "slurmstepd: error: *** STEP 34.0 ON n1 CANCELLED AT 2021-10-27T20:22:22 ***\n",
    "rank": "[3] failed\nRoot Cause (first observed failure):\n[0]:\n  time      : 2025-05-21_15:43:03\n"
    "  rank      : 3 (local_rank: 3)\n  exitcode  : -11 (pid: 1475)\n  error_file: <N/A>\n",
    "rank-alone": "E0512 14:34:33.014000 126116 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode:"
    " -9) local_rank: 2 (pid: 126190) of binary: /usr/bin/python\n",
    "rank-before-the-others": "[rank1]: torch.distributed.DistBackendError: NCCL error: remote process exited\n"
    "E0512 14:34:33.014000 126 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9)"
    " local_rank: 2 (pid: 12) of binary: /usr/bin/python\n",
    "child": "subprocess.CalledProcessError: Command '['solve']' died with <Signals.SIGKILL: 9>.\n",
}

SHORT_OF_MEMORY = {
    "oomd": "Sep 10 14:59:49 n1 systemd-oomd[34]: Killed /user.slice/a.service due to memory pressure for /user.slice"
    " being 64.15% > 50.00% for > 30s\nSep 10 14:59:49 n1 systemd[1]: a.service: systemd-oomd killed 2 process(es)"
    " in this unit.\n",
    "ray": "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n",
    "raylet": "(raylet, ip=10.0.0.1) node_manager.cc:2966: System memory low at node with IP 10.0.0.1. Used memory"
    " (54.90GB) / total capacity (57.60GB) exceeds threshold 0.95, killing latest task with name f\n",
    "linker": "/usr/bin/ld: libx.a: error adding symbols: Memory exhausted\ncollect2: error: ld returned 1"
    " exit status\nmake: *** [all] Error 1\n",
    "llvm": "LLVM ERROR: out of memory\nStack dump:\n",
    "tensorflow-cpu": "ResourceExhaustedError: OOM when allocating tensor with shape[9,9] and type float on"
    " /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n",
    "aligned": "RuntimeError: [enforce fail at CPUAllocator.cpp:56] posix_memalign(&data, gAlignment, nbytes) == 0."
    " 12 vs 0\n",
    "kernel-cut-off": "[ 3449.257924] journal invoked oom-killer: gfp_mask=0x100cca, order=0, oom_score_adj=0\n"
    "[ 3449.257938] Call Trace:\n[ 3449.257957]  out_of_memory+0x1cf/0x520\n"
    "[ 3449.257961]  __alloc_pages_slowpath.constprop.0+0xc86/0xd50\n",
}

LIMIT_OF_MEMORY = {
    "pbs-mail": "Aborted by PBS Server\nJob exceeded a memory resource limit (vmem, pvmem, etc.). Job was aborted\n",
    "lsf-swap": "TERM_SWAP: job killed after reaching LSF swap usage limit.\nExited with exit code 130.\n",
    "kernel-cut-off": "[   13.957383] mem invoked oom-killer: gfp_mask=0x14200ca, order=0, oom_score_adj=0\n"
    "[   13.958013] Call Trace:\n[   13.958013]  mem_cgroup_out_of_memory+0x36/0x50\n",
}

GPU = {
    "cupy": "OutOfMemoryError: out of memory to allocate 1200000000 bytes (total 7204800000 bytes)\n",
    "cupy-newer": "Exception in main training loop: Out of memory allocating 25,600,000 bytes (allocated so far:"
    " 3,635,267,072 bytes).\n",
    "llama": "CUDA error 2 at /src/ggml-cuda.cu:5509: out of memory\ncurrent device: 0\n",
    "jax-older": "E local_client.cc:672] Execution of replica 0 failed: Resource exhausted: Out of memory while trying"
    " to allocate 5520758552 bytes.\n",
}

SETTINGS = {
    "yaml": 'ERROR: yaml.scanner.ScannerError: mapping values are not allowed here\n  in "./a.yml", line 7\n',
    "cut-off": "omegaconf.errors.ConfigKeyError: Key 'training' not in 'ModelConfig'\n    full_key: model.training\n",
    "editor": "Exception has occurred: ScannerError\nmapping values are not allowed here\n",
    "lightning": "x.exceptions.MisconfigurationException: ModelCheckpoint(monitor='val') not found\n",
}

PEERS = {
    "closed": "n22:183006:183181 [1] misc/socket.cc:538 NCCL WARN Net : Connection closed by remote peer n3<47861>\n",
    "broken": "n22:183006:183220 [1] misc/socket.cc:518 NCCL WARN Net : Call to recv from 10.2.8.2<583> failed :"
    " Broken pipe\n",
    "nccl-tests": "NCCL failure common.cu:921 'unhandled system error'\n",
}

ROWS_OF_NAN = {
    "keras": "  3/234 [....] - ETA: 33:37:24 - loss: 44.4110Batch 3: Invalid loss, terminating training\n",
    "fairseq": '2020-10-01 10:25:50 | INFO | train | {"epoch": 73, "train_loss": "nan", "train_num_updates": "9291",'
    ' "train_gnorm": "nan", "train_loss_scale": null}\n',
}

THREADS = {
    "lsf": "TERM_THREADLIMIT: job killed after reaching LSF thread limit.\nExited with exit code 143.\n"
}

WALL_CLOCK = {
    "pbs-mail": "Aborted by PBS Server\nJob exceeded its walltime limit. Job was aborted\nSee Administrator for help\n",
    "crab": "ERROR:RetryJob Not retrying job due to wall clock limit (job automatically killed)\n",
}

CTRL_C = {"make": "make[1]: *** [rules.mk:50: io.o] Interrupt\nmake: *** [Makefile:9: all] Interrupt\n"}
