"""Endings of jobs as their tools print them, and why each of them ended."""

from jobmeter.model.report import Cause
from support import found_logs as found

_FRAMES = """  File "/home/u/train.py", line 88, in <module>
    main()
  File "/home/u/train.py", line 51, in main
    loss.backward()
"""


def traceback(last: str, *, prefix: str = "") -> str:
    """Put two frames before an exception, and a prefix before every line."""
    lines = f"Traceback (most recent call last):\n{_FRAMES}{last}".split("\n")
    return "".join(f"{prefix}{line}\n" for line in lines)


STARTED = "loading data\nmodel has 124M parameters\n"

GPU_MEMORY = {
    "torch-1.4": traceback(
        "RuntimeError: CUDA out of memory. Tried to allocate 1.17 GiB (GPU 0; 7.93 GiB total capacity; 5.50 GiB"
        " already"
        " allocated; 827.44 MiB free; 6.42 GiB cached)"
    ),
    "torch-1.13": traceback(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 192.00 MiB (GPU 3; 23.69 GiB total"
        " capacity;"
        " 21.93 GiB already allocated; 60.06 MiB free; 22.31 GiB reserved in total by PyTorch) If reserved"
        " memory is >>"
        " allocated memory try setting max_split_size_mb to avoid fragmentation."
    ),
    "torch-2.6": traceback(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of"
        " 79.19 GiB of"
        " which 41.50 MiB is free. Process 3300267 has 74.86 GiB memory in use. Process 11 has 2.00 GiB memory"
        " in use."
        " Of the allocated memory 1.50 GiB is allocated by PyTorch, and 12.00 MiB is reserved by PyTorch but"
        " unallocated."
    ),
    "torch-in-a-worker": traceback(
        "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback (most recent"
        " call last):\n"
        '  File "/x/worker.py", line 3, in _worker_loop\n    data = fetcher.fetch(index)\n'
        "RuntimeError: CUDA error: out of memory"
    ),
    "cuda-runtime-2": "THCudaCheck FAIL file=THCStorage.cu line=58 error=2 : out of memory\n"
    + traceback(
        "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/THCStorage.cu:58"
    ),
    "jax": traceback(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 17179869184 bytes."
    ),
    "jax-tpu": traceback(
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 18.2G of 15.48G hbm."
        " Exceeded hbm"
        " capacity by 2.72G."
    ),
    "tensorflow-2": "2024-05-01 10:00:01.123456: W tensorflow/core/common_runtime/bfc_allocator.cc:479] Allocator"
    " (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested by op gradients\n"
    + traceback(
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape"
        "[64,512,512,16] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    ),
    "cublas": traceback(
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
    ),
    "rocm": traceback(
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of"
        " 63.98 GiB of"
        " which 190.00 MiB is free."
    ),
    "apple": traceback(
        "RuntimeError: MPS backend out of memory (MPS allocated: 17.12 GB, other allocations: 1.20 GB, max"
        " allowed: 18.13"
        " GB). Tried to allocate 500.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"
    ),
    "cupy": traceback(
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes (allocated so far: 0 bytes)."
    ),
    "vllm": "ERROR 05-01 10:00:00 [engine.py:448] CUDA out of memory. Tried to allocate 594.00 MiB. GPU 0 has a total"
    " capacity of 23.64 GiB of which 400.00 MiB is free.\n"
    + traceback("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB."),
    "one-rank-then-timeouts": traceback(
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 1 has a total"
        " capacity of"
        " 39.39 GiB of which 4.00 MiB is free."
    )
    .replace("Traceback", "[rank1]: Traceback")
    .replace("\n  ", "\n[rank1]:   ")
    + "[rank0]:[E501 10:30:00.000000000 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation"
    " timeout:"
    " WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010"
    " milliseconds before"
    " timing out.\n",
    "accelerate-then-time-limit": traceback(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 2 has a total capacity of"
        " 39.39 GiB",
        prefix="2: ",
    )
    + "slurmstepd: error: *** JOB 71 ON n1 CANCELLED AT 2025-03-01T00:00:01 DUE TO TIME LIMIT ***\n",
}

HOST_MEMORY_LIMIT = {
    "slurm-20": "epoch 3\nslurmstepd: error: Detected 1 oom-kill event(s) in step 1234.batch cgroup. Some of"
    " your processes"
    " may have been killed by the cgroup out-of-memory handler.\n",
    "slurm-21": "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=66.0. Some of your processes may"
    " have been killed"
    " by the cgroup out-of-memory handler.\nsrun: error: node7: task 3: Out Of Memory\n",
    "slurm-23": "/var/spool/slurmd/job9/slurm_script: line 14: 41234 Killed                  python train.py\n"
    "slurmstepd: error: Detected 1 oom_kill event in StepId=9.batch. Some of the step tasks have been OOM Killed.\n",
    "slurm-old": "slurmstepd: error: Exceeded job memory limit at some point.\n",
    "slurm-oldest": "slurmd[n1]: error: Job 77 exceeded memory limit (4209300 > 4194304), being killed\n",
    "pbs-memory": "=>> PBS: job killed: mem 33555000kb exceeded limit 33554432kb\n",
    "lsf-memory": "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137.\n",
    "kubectl-describe": "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n",
    "dmesg-cgroup": "[123456.789012] Memory cgroup out of memory: Killed process 812 (python) total-vm:9000000kB,"
    " anon-rss:261120kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:800kB oom_score_adj:0\n",
    "journald-cgroup": "Aug 12 03:54:03 node7 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"
    "mems_allowed=0,oom_memcg=/slurm/uid_1/job_9,task_memcg=/slurm/uid_1/job_9/step_0,task=python3,pid=55,uid=1\n",
    "yarn": "Container [pid=28920,containerID=container_1] is running beyond physical memory limits. Current"
    " usage: 4.2 GB"
    " of 4 GB physical memory used; 6.0 GB of 8.4 GB virtual memory used. Killing container.\n",
    "dask": "distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:4 (pid=8) exceeded 95% memory budget."
    " Restarting...\n"
    "slurmstepd: error: Detected 1 oom_kill event in StepId=9.batch.\n",
}

HOST_MEMORY = {
    "kernel-3": "Out of memory: Kill process 9163 (java) score 651 or sacrifice child\n"
    "Killed process 9163 (java) total-vm:7000000kB, anon-rss:5000000kB, file-rss:0kB\n",
    "dmesg-host": "[  99.000001] Out of memory: Killed process 5 (stress) total-vm:10kB, anon-rss:5kB,"
    " file-rss:0kB\n",
    "torch-cpu": traceback(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory:"
        " you tried to"
        " allocate 137438953472 bytes. Error code 12 (Cannot allocate memory)"
    ),
    "numpy": traceback(
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for an array with shape"
        " (1000000, 1000000) and"
        " data type float64"
    ),
    "python": traceback("MemoryError"),
    "bad-alloc": "terminate called after throwing an instance of 'std::bad_alloc'\n  what(): "
    " std::bad_alloc\nAborted (core"
    " dumped)\n",
    "java": 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n\tat Main.main(Main.java:7)\n',
    "node": "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
    "fork": traceback("OSError: [Errno 12] Cannot allocate memory"),
    "r": "Error: cannot allocate vector of size 14.9 Gb\nExecution halted\n",
    "go": "fatal error: runtime: out of memory\n\nruntime stack:\n",
    "rust": "memory allocation of 34359738368 bytes failed\nAborted (core dumped)\n",
}

TIME = {
    # Slurm says no more of some time limits than of `scancel`: the likelier one is named, at 0.5
    "slurm-says-nothing": "slurmstepd: error: *** JOB 66799464 ON mb-sky001 CANCELLED AT 2026-01-06T22:02:48 ***\n",
    "slurm-job": "slurmstepd: error: *** JOB 25883692 ON gr015 CANCELLED AT 2024-01-01T10:00:00 DUE TO TIME"
    " LIMIT ***\n",
    "slurm-on-a-bar": "29948it [35:34,  7.00s/it]slurmstepd: error: *** STEP 5.0 ON gr015 CANCELLED AT"
    " 2024-01-01T10:00:00"
    " DUE TO TIME LIMIT ***\nsrun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n",
    "slurm-then-sigterm": "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
    "slurmstepd: error: *** JOB 5 ON a CANCELLED AT 2024-01-01T10:00:00 DUE TO TIME LIMIT ***\n"
    + traceback("RuntimeError: DataLoader worker (pid 31) is killed by signal: Terminated. "),
    "pbs": "=>> PBS: job killed: walltime 3632 exceeded limit 3600\nTerminated\n",
    "lsf": "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.\n",
    "k8s": "  Warning  DeadlineExceeded  1s  job-controller  Job was active longer than specified deadline\n",
    "actions": "##[error]The job running on runner GitHub Actions 3 has exceeded the maximum execution time of"
    " 360 minutes.\n",
    "sagemaker": "Status: MaxRuntimeExceeded, SecondaryStatus: MaxRuntimeExceeded\n",
}

WORKERS = {
    "dataloader": traceback("RuntimeError: DataLoader worker (pid 933394) is killed by signal: Killed. "),
    "dataloader-gone": traceback("RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly"),
    "shared-memory": "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient"
    " shared memory"
    " (shm).\n"
    + traceback(
        "RuntimeError: DataLoader worker (pid 5) is killed by signal: Bus error. It is possible that"
        " dataloader's workers are"
        " out of shared memory. Please try to raise your shared memory limit."
    ),
    "joblib": traceback(
        "joblib.externals.loky.process_executor.TerminatedWorkerError: A worker process managed by the executor was"
        " unexpectedly terminated. This could be caused by a segmentation fault while calling the function or"
        " by an excessive"
        " memory usage causing the Operating System to kill the worker."
    ),
    "pool": traceback(
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly"
        " while the future"
        " was running or pending."
    ),
    "batch-of-the-dead": "Traceback (most recent call last):\n"
    '  File "/v/torch/multiprocessing/reductions.py", line 538, in rebuild_storage_fd\n    fd = df.detach()\n'
    '  File "/usr/lib/python3.11/multiprocessing/resource_sharer.py", line 57, in detach\n'
    "ConnectionResetError: [Errno 104] Connection reset by peer\n",
    "cut-short-by-the-news": "Traceback (most recent call last):\nobject address  : 0x7f7ee1f24740\n"
    "object refcount : 2\nobject type     : 0x7f7f03e50f20\nobject type name: ConnectionResetError\n"
    "object repr     : ConnectionResetError(104, 'Connection reset by peer')\nlost sys.stderr\n",
}

COLLECTIVES = {
    "nccl-1.13": "[E ProcessGroupNCCL.cpp:821] [Rank 3] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum=1207, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800540 milliseconds before timing out.\n"
    "[E ProcessGroupNCCL.cpp:456] Some NCCL operations have failed or timed out. Due to the asynchronous nature"
    " of CUDA"
    " kernels, subsequent GPU operations might run on corrupted/incomplete data.\nterminate called after"
    " throwing an instance"
    " of 'std::runtime_error'\n",
    "nccl-2.5": "[rank2]:[E916 03:05:16.461379645 ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective"
    " operation"
    " timeout: WorkNCCL(SeqNum=436, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout\n(ms)=1800000) ran for 1800010"
    " milliseconds before timing out.\n[rank2]:[E916 03:05:16.461548118 ProcessGroupNCCL.cpp:1709] [PG 0"
    " (default_pg) Rank 2]"
    " Timeout at NCCL work: 436, last enqueued NCCL work: 436, last completed NCCL work: 435.\n",
    "gloo": traceback(
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting"
        " 1800000ms for recv"
        " operation to complete"
    ),
    "nccl-system": traceback(
        "torch.distributed.DistBackendError: NCCL error in:"
        " ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1275, unhandled"
        " system error, NCCL version 2.18.1\nncclSystemError: System call (e.g. socket, malloc) or external"
        " library call failed"
    ),
    "barrier": traceback(
        "RuntimeError: Rank 0 failed to pass monitoredBarrier in 60000 ms\n Original exception: timed out"
    ),
}

DISK = {
    "python": traceback("OSError: [Errno 28] No space left on device"),
    "torch-save": traceback(
        "RuntimeError: [enforce fail at inline_container.cc:588] . PytorchStreamWriter failed writing file"
        " data/41: file write"
        " failed"
    ),
    "quota": traceback("OSError: [Errno 122] Disk quota exceeded: '/home/u/ckpt/optim.pt'"),
    "cp": "cp: error writing '/scratch/u/a.bin': No space left on device\n",
    "docker": "ERROR: failed to solve: write /var/lib/docker/tmp/x: no space left on device\n",
    "sqlite": traceback("sqlite3.OperationalError: database or disk is full"),
}

LIMITS = {
    "files": traceback("OSError: [Errno 24] Too many open files: '/data/shard-0001.tar'"),
    "ancdata": traceback("RuntimeError: received 0 items of ancdata"),
    "fork": "bash: fork: retry: Resource temporarily unavailable\nbash: fork: Resource temporarily unavailable\n",
    "python-fork": traceback("BlockingIOError: [Errno 11] Resource temporarily unavailable"),
    "thread": traceback("RuntimeError: can't start new thread"),
    "openblas": "OpenBLAS blas_thread_init: pthread_create failed for thread 63 of 64: Resource temporarily"
    " unavailable\n",
    "java-thread": "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or"
    " process/resource"
    " limits reached\n",
    "cpu": "./run.sh: line 3: 812 CPU time limit exceeded   ./burn\n",
}

IMPORTS = {
    "module": traceback("ModuleNotFoundError: No module named 'flash_attn'"),
    "name": traceback(
        "ImportError: cannot import name 'PreTrainedModel' from 'transformers' (/x/__init__.py)"
    ),
    "library": "./train: error while loading shared libraries: libcudart.so.11.0: cannot open shared object"
    " file: No such file"
    " or directory\n",
    "python-m": "/usr/bin/python3: No module named torch.distributed.run\n",
    "shell": "/var/spool/slurmd/job1/slurm_script: line 9: conda: command not found\n",
    "glibc": "python: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by python)\n",
    "docker-run": 'docker: Error response from daemon: failed to create task: exec: "pythn": executable file'
    " not found in"
    " $PATH: unknown.\n",
}

CONFIGS = {
    "argparse": "usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --learnig-rate 3\n",
    "required": "usage: train.py [-h] --data DATA\ntrain.py: error: the following arguments are required: --data\n",
    "click": "Usage: train [OPTIONS]\nTry 'train --help' for help.\n\nError: No such option: --batchsize\n",
    "hydra": "Could not override 'trainer.max_step'.\nTo append to your config use +trainer.max_step=3\nKey"
    " 'max_step' is not"
    " in struct\n    full_key: trainer.max_step\n",
    "yaml": traceback(
        'yaml.scanner.ScannerError: mapping values are not allowed here\n  in "config.yaml", line 3, column 8'
    ),
    "pydantic": traceback(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\nlr\n  Field required"
    ),
    "sbatch": "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
    "missing-config": "error: unable to open config file: conf/train.yaml\n",
}

NOT_A_NUMBER = {
    "nanogpt": "iter 7: loss 4.2101, time 263.11ms, mfu 0.01%\niter 8: loss nan, time 263.68ms, mfu 0.01%\n"
    "iter 9: loss nan, time 263.68ms, mfu 0.01%\niter 10: loss nan, time 262.00ms, mfu 0.01%\n",
    "hf": "".join(
        f"{{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n" for n in range(1, 5)
    ),
    "hf-filtered": "".join(
        f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n" for n in range(1, 6)
    ),
    "detectron": traceback(
        "FloatingPointError: Loss became infinite or NaN at iteration=112!\nloss_dict = {'loss_cls': nan}"
    ),
    "mae": "Loss is nan, stopping training\n",
    "anomaly": traceback("RuntimeError: Function 'MseLossBackward0' returned nan values in its 0th output."),
    "keras": "".join(
        f"Epoch {n}/9\n32/32 [==============================] - 1s 5ms/step - loss: nan\n"
        for n in (1, 2, 3, 4)
    ),
}

CRASHES = {
    "segfault": "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
    "./job.sh: line 4: 4321 Segmentation fault      (core dumped) python train.py\n",
    "mpirun": "mpirun noticed that process rank 2 with PID 0 on node n3 exited on signal 9 (Killed).\n",
    "killed": "epoch 1 done\nKilled\n",
    "illegal": "run.sh: line 2:  77 Illegal instruction     (core dumped) ./a.out\n",
    "preempted": "slurmstepd: error: *** JOB 12 ON n7 CANCELLED AT 2025-01-06T22:02:48 DUE TO PREEMPTION ***\n",
    "node": "slurmstepd: error: *** STEP 12.0 ON n7 CANCELLED AT 2025-01-06T22:02:48 DUE TO NODE FAILURE, SEE"
    " SLURMCTLD LOG FOR"
    " DETAILS ***\n",
    "terminated": "run.sh: line 2:  77 Terminated              python train.py\n",
}

EXCEPTIONS = {
    "value": traceback("ValueError: Expected input batch_size (32) to match target batch_size (64)."),
    "key": traceback("KeyError: 'labels'"),
    "missing-file": traceback("FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'"),
    "chained": traceback("ConnectionError: cannot reach the hub")
    + "\nThe above exception was the direct cause of the following exception:\n\n"
    + traceback("OSError: We couldn't connect to 'https://hub' to load this file"),
    "assert": traceback("AssertionError: vocab size must divide by 64"),
    "device-assert": traceback("RuntimeError: CUDA error: device-side assert triggered"),
    "xid": "[ 100.000001] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.\n",
    "torchrun": traceback("IndexError: list index out of range", prefix="[default1]:")
    + "[2025-01-01 10:00:00,000] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1)"
    " local_rank: 1"
    " (pid: 77) of binary: /usr/bin/python3\n"
    + traceback("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "),
    "java": 'Exception in thread "main" java.lang.NullPointerException: x is null\n\tat Main.main(Main.java:3)\n',
    "ray-actor": traceback(
        'ray.exceptions.RayTaskError(ValueError): ray::f() (pid=1, ip=10.0.0.1)\n  File "f.py", line 1, in'
        " f\nValueError: bad"
    ),
    "docker-step": "".join(
        f"#12 3.{n} {line}\n" for n, line in enumerate(traceback("ValueError: bad").split("\n"))
    ),
}

INTERRUPTS = {
    "ctrl-c": "iter 3: loss 2.0\n^C" + traceback("KeyboardInterrupt"),
    "workers-too": traceback("KeyboardInterrupt")
    + traceback("RuntimeError: DataLoader worker (pid 8) is killed by signal: Interrupt. "),
    "click": "Aborted!\n",
}

CASES: dict[str, tuple[str, Cause]] = {
    f"{group}/{name}": (STARTED + text, cause)
    for group, logs, cause in (
        ("gpu-memory", GPU_MEMORY, Cause.OOM_CUDA),
        ("memory-limit", HOST_MEMORY_LIMIT, Cause.OOM_CGROUP),
        ("host-memory", HOST_MEMORY, Cause.OOM_HOST),
        ("time", TIME, Cause.TIMEOUT),
        ("workers", WORKERS, Cause.WORKER_KILLED),
        ("collectives", COLLECTIVES, Cause.NCCL_TIMEOUT),
        ("disk", DISK, Cause.DISK_FULL),
        ("limits", LIMITS, Cause.RESOURCE_LIMIT),
        ("imports", IMPORTS, Cause.IMPORT_ERROR),
        ("configs", CONFIGS, Cause.CONFIG_ERROR),
        ("nan", NOT_A_NUMBER, Cause.NAN_LOSS),
        ("crashes", CRASHES, Cause.KILLED_SIGNAL),
        ("exceptions", EXCEPTIONS, Cause.EXCEPTION),
        ("interrupts", INTERRUPTS, Cause.INTERRUPTED),
        ("builds", found.BUILDS, Cause.EXCEPTION),
        ("kills", found.KILLS, Cause.KILLED_SIGNAL),
        ("short-of-memory", found.SHORT_OF_MEMORY, Cause.OOM_HOST),
        ("limit-of-memory", found.LIMIT_OF_MEMORY, Cause.OOM_CGROUP),
        ("gpus", found.GPU, Cause.OOM_CUDA),
        ("settings", found.SETTINGS, Cause.CONFIG_ERROR),
        ("peers", found.PEERS, Cause.NCCL_TIMEOUT),
        ("rows-of-nan", found.ROWS_OF_NAN, Cause.NAN_LOSS),
        ("threads", found.THREADS, Cause.RESOURCE_LIMIT),
        ("wall-clock", found.WALL_CLOCK, Cause.TIMEOUT),
        ("ctrl-c", found.CTRL_C, Cause.INTERRUPTED),
    )
    for name, text in logs.items()
}
