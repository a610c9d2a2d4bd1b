// Why runs end, in a few words; filters take the names, a report says the whole of it.

const WORDS: Record<string, string> = {
  completed: "completed",
  oom_cgroup: "memory limit reached",
  oom_host: "memory refused or used up",
  oom_cuda: "GPU out of memory",
  worker_killed: "a worker was killed",
  nan_loss: "loss became NaN",
  diverged: "loss diverged",
  timeout: "time limit reached",
  nccl_timeout: "ranks waited in vain",
  disk_full: "disk full",
  resource_limit: "a system limit reached",
  import_error: "an import failed",
  config_error: "a setting refused",
  exception: "an error",
  killed_signal: "killed by a signal",
  interrupted: "interrupted",
  hang: "stood still",
  unknown: "not known",
};

export function inWords(cause: string): string {
  return WORDS[cause] ?? cause.replaceAll("_", " ");
}
