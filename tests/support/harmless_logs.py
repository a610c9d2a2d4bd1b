"""Text of jobs that nothing happened to, as far as it tells, though it holds the words of failures."""

from support.failing_logs import traceback

HARMLESS = {
    "just-ends": "step 1 loss 3.2\nstep 2 loss 3.1\n",
    "megatron": " iteration 1/ 500000 | lm loss: 3.010825E+00 | loss scale: 1.0 | grad norm: 2.948 | number of"
    " skipped"
    " iterations: 0 | number of nan iterations: 0 |\n" * 20,
    "nanms": "step:1/1530 train_loss:10.8258 train_time:31869ms step_avg:nanms\n",
    "warm-up": "Epoch(train) [1][20/100] loss: 6.2 grad_norm: inf\nEpoch(train) [1][40/100] loss: 5.9"
    " grad_norm: 4.2361\n",
    "one-nan-step": "".join(f"step {n} loss {'nan' if n == 3 else 4 - n / 10}\n" for n in range(1, 12)),
    "nccl-warning": "[rank0]:[W916 07:51:08.402976280 ProcessGroupNCCL.cpp:1168] Warning: WARNING: process"
    " group has NOT been"
    " destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call"
    " destroy_process_group\n",
    "counts": "Found 0 errors. 0 failed, 12 passed\nerror_rate=0.01\nErrorHandler installed\nno error so"
    " far\nErrors: 0\n",
    "metric-error": "Error: 0.1234\nmean absolute error: 0.2\nval error 12.1 %\n",
    "loss-scale": "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n"
    "[INFO] [loss_scaler.py:183] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536,"
    " reducing to 32768\n",
    "warnings": "/x/y.py:3: FutureWarning: `torch.cuda.amp.autocast` is deprecated and will raise an error\n"
    "  warnings.warn(\nUserWarning: Failed to load image Python extension\n",
    "advice": "Set expandable_segments:True to avoid CUDA out of memory errors.\nIf you run into CUDA out of"
    " memory, lower it.\n",
    "source": "def f():\n    try:\n        g()\n    except RuntimeError as e:\n        if 'out of memory' in"
    " str(e):\n"
    '            print("ERROR: magic number mismatch")\n            raise ValueError("bad")\n',
    "tf-starts": "2021-02-05 16:34:37.424579: W tensorflow/stream_executor/platform/default/dso_loader.cc:60]"
    " Could not load"
    " dynamic library 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared object file\n"
    "2021-02-05 16:34:37.424617: W tensorflow/stream_executor/cuda/cuda_driver.cc:326] failed call to cuInit:"
    " UNKNOWN ERROR\n",
    "tf-allocator": "2021-02-05 16:34:37.4: W tensorflow/core/common_runtime/bfc_allocator.cc:245] Allocator"
    " (GPU_0_bfc) ran out"
    " of memory trying to allocate 2.20GiB. The caller indicates that this is not a failure, but may mean that"
    " there could be"
    " performance gains if more memory were available.\n",
    "skipped-batch": "WARNING: ran out of memory: CUDA out of memory. Tried to allocate 2.00 GiB. Skipping batch\n",
    "caught-and-went-on": traceback("ValueError: bad image, using the next one")
    + "".join(f"{n}/100 [00:{n:02}<01:00,  1.00it/s]\r" for n in range(1, 40)),
    "ignored": "Exception ignored in: <function Pool.__del__ at 0x7f>\n"
    + traceback("OSError: [Errno 9] Bad file descriptor"),
    "http": 'INFO: 10.0.0.1 - "GET /error HTTP/1.1" 404 Not Found\nINFO retrying after timeout 0\n',
    "config-dump": "ddp_timeout=1800,\nskip_memory_metrics=True,\nsave_total_limit=None,\nterminate_on_nan=True\n",
    "library-tried": "Could not load library libnvrtc.so.11.2. Error: libnvrtc.so.11.2: cannot open shared object"
    " file: No such file or directory\nepoch 1 loss 2.0\n",
    "panic-asked-for": "thread 'without_arn' panicked at 'arn cannot be null', src/lib.rs:688\n"
    "test without_arn ... ok\n\ntest result: ok. 7 passed; 0 failed; 0 ignored\n",
    "unittest": traceback("ValueError: what the test asks for") + "Ran 12 tests in 0.3s\n\nOK\n",
    "pytest": traceback("OSError: [Errno 28] No space left on device")
    + "===== 12 passed, 1 warning in 0.52s =====\n",
    "configure": "conftest.c:9:10: fatal error: ac_nonexistent.h: No such file or directory\n"
    "checking for fseeko... no\n-- Looking for pthread_create - not found\n-- Configuring done\n",
    "make-ignores": "make: [Makefile:9: clean] Error 1 (ignored)\n",
    "retried": "NOTE: Process `ALIGN (1)` terminated with an error exit status (137) -- Execution is retried (1)\n",
}
