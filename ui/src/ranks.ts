// What the API tells of the ranks of a job.
import type { Status } from "./types.ts";

export interface Rank {
  rank: number;
  run_id: string;
  status: Status;
  host?: string;
  pid?: number;
  steps?: number;
  last_step?: number;
  behind?: number;
  step_seconds?: number;
  relative?: number;
  slowest_share?: number;
  straggler: boolean;
  processes?: number;
  cpu_seconds?: number;
  memory_peak_bytes?: number;
  gpu_util_percent?: number;
  gpu_memory_peak_bytes?: number;
}

export interface Ranks {
  job_id: string;
  world_size?: number;
  ranks_seen: number[];
  ranks_missing: number[];
  stragglers: number[];
  imbalance?: { step_seconds?: number; memory?: number };
  throughput?: Record<string, { value: number; ranks: number }>;
  ranks: Rank[];
}
