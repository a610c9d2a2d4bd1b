// The answers of the API, as far as the page reads them. The OpenAPI document of the server is the whole truth.
import type { Ranks } from "./ranks.ts";
import type { Followed, Prediction } from "./run/types.ts";

export interface Headline {
  value: number;
  low: number;
  high: number;
  keys: string[];
  exact: boolean;
}

export type Status = "queued" | "running" | "paused" | "completed" | "failed" | "killed" | "cancelled" | "lost";

export interface StepFacts {
  count?: number;
  last_step?: number;
  steps_per_second?: number;
  metrics?: Record<string, { first?: number | string; last?: number | string; min?: number; max?: number }>;
}

export interface Run {
  run_id: string;
  job_id?: string;
  name?: string;
  project?: string;
  group?: string;
  status: Status;
  exit_code?: number;
  signal?: string;
  command?: string[];
  cwd?: string;
  host?: string;
  user?: string;
  started_at?: string;
  ended_at?: string;
  wall_seconds?: number;
  headline?: Record<string, Headline>;
  limits?: { memory_bytes?: number; cpus?: number };
  provenance?: { selected?: string[]; missing?: Record<string, string>; inexact?: Record<string, string> };
  message?: string;
  tags?: Record<string, string>;
  notes?: string[];
  ranks?: number[];
  world_size?: number;
  samples?: number;
  steps?: StepFacts;
  results?: Record<string, number | string>;
}

export interface Evidence {
  sentence: string;
  source?: string;
  quote?: string;
  offset?: number;
  timestamp?: string;
}

export interface Verdict {
  cause: string;
  sentence: string;
  confidence: number;
  evidence: Evidence[];
}

export interface RunShown extends Run {
  summary?: Record<string, number | string>;
  by_command?: { command: string; cpu_seconds?: number; peak_rss_bytes?: number; processes?: number }[];
  roles?: Record<string, { processes: number; cpu_seconds?: number; memory_peak_bytes?: number }>;
  siblings?: string[];
  events?: Happened[];
  /** Shares of the memory limit that the job's own config calls worrying. */
  memory_zones?: Zones;
  verdict?: Verdict;
}

export interface Zones {
  warning: number;
  critical: number;
}

export interface Happened {
  timestamp: string;
  type: string;
  details?: Record<string, unknown>;
  config?: Record<string, unknown>;
  measurements?: Record<string, number | string | null>;
  rank?: number;
}

export interface RunsPage {
  runs: Run[];
  next: string | null;
  total: number;
}

export interface Facets {
  facets: Record<string, { value: string; count: number }[]>;
}

export interface Line {
  key: string;
  instance: string;
  kind: string | null;
  unit: string | null;
  rate: boolean;
  t: number[];
  begin: number[];
  n: number[];
  min: (number | null)[];
  max: (number | null)[];
  mean: (number | null)[];
  last: (number | null)[];
}

export interface Lines {
  run_id: string;
  series: Line[];
  coarse: boolean;
}

export interface Curve {
  metric: string;
  rank: number;
  source: string;
  rising: boolean;
  step: number[];
  first_step: number[];
  n: number[];
  min: (number | null)[];
  max: (number | null)[];
  last: (number | string)[];
}

export interface Curves {
  run_id: string;
  series: Curve[];
  metrics: string[];
  coarse: boolean;
}

export type Level = "critical" | "warning" | "info";

export interface Recommendation {
  rule: string;
  severity: Level;
  title: string;
  action: string;
  impact: string;
  config_path: string | null;
  current_value: unknown;
  recommended_value: unknown;
  evidence: Evidence[];
  predicted?: Prediction[];
}

export interface Finding {
  detector: string;
  severity: Level;
  sentence: string;
  key?: string;
  from?: string;
  to?: string;
  rank?: number;
}

export interface LogError {
  timestamp?: string;
  level: "WARNING" | "ERROR" | "CRITICAL";
  type?: string;
  message: string;
  traceback?: string;
  count: number;
  stream?: string;
  offset?: number;
  memory_at_time_bytes?: number;
}

export interface Report {
  verdict: Verdict;
  health: "good" | "warning" | "critical";
  findings: Finding[];
  recommendations: Recommendation[];
  log_errors: LogError[];
  followed?: Followed[];
}

export interface LogLine {
  offset: number;
  text: string;
  number: number | null;
  timestamp: string | null;
  cut: boolean;
}

export interface LogPage {
  stream: string | null;
  streams: string[];
  begin: number;
  next: number;
  size_bytes: number;
  lines: LogLine[];
  tail: string | null;
  complete: boolean;
  reason: string | null;
}

export interface Compared {
  runs: string[];
  metrics: { key: string; unit: string; values: (number | null)[]; change_percent: (number | null)[]; winner: string | null }[];
  config: { path: string; values: unknown[] }[];
  environment: { path: string; values: unknown[] }[];
  phases: { resource: string; runs: { seconds: number; level: number; shown: string }[][] }[];
  loss_at_step: { step: number; values: (number | null)[] }[];
}

export interface Region {
  region: string;
  builds?: number;
  pending?: number;
  successes?: number;
  failures?: number;
  success_rate?: number;
  streak?: number;
  queue_seconds?: number;
  working_seconds?: number;
  cost_usd?: number;
  spikes?: number;
  troughs?: number;
  consistency?: number;
  consistency_band?: string;
  trend_percent?: number;
  last_error?: string;
  last_used?: string;
  cancelled?: number;
  sampled?: number;
  recent_outcomes?: Outcome[];
  regressions?: number;
}

export type Outcome = "success" | "failure" | "cancelled" | "pending";

export interface BuildPoint {
  build_id?: string;
  timestamp?: string;
  outcome: Outcome;
  queue_seconds?: number;
  working_seconds?: number;
  cost_usd?: number;
  success_rate?: number;
  error?: string;
  spikes?: number;
  troughs?: number;
  consistency?: number;
  change?: "slower" | "faster";
  change_percent?: number;
}

export interface Spike {
  type: "cpu" | "memory";
  sample_index: number;
  from_value: number;
  to_value: number;
  percent_change: number | null;
  timestamp: string | null;
  severity?: "HIGH" | "MEDIUM" | "LOW";
}

export interface Build {
  build_id?: string | null;
  status?: string | null;
  machine_type?: string | null;
  resource_samples?: { ts?: string; cpu?: number; mem_used_gb?: number; mem_total_gb?: number }[] | null;
  anomalies?: { spikes?: Spike[]; troughs?: Spike[] } | null;
  [name: string]: unknown;
}

export interface RegionBuilds {
  region: Region;
  builds: Build[];
  history: BuildPoint[];
}

export interface Campaign {
  campaign_start: string | null;
  last_updated: string | null;
  total_builds_all_regions: number;
  regions: Region[];
}

export interface Advised {
  unit: string;
  asked?: number;
  typical: number;
  largest: number;
  advised: number;
  failure_probability: number;
  confidence: string;
  runs: number;
  method: string;
  expected_saving?: number;
}

export interface Sized {
  jobs: { job: string; runs: number; advice: Record<string, Advised>; missing: Record<string, string>; lines?: string[] }[];
}

export interface Progress {
  by: "steps" | "history";
  step?: number;
  of?: number;
  percent: number;
  seconds_left?: number;
  usual_seconds?: number;
  runs?: number;
}

export interface LiveJob {
  job_id: string;
  name?: string;
  project?: string;
  runs: Run[];
  hosts?: string[];
  progress?: Progress;
  stragglers?: number[];
  ranks?: Ranks;
}

export interface Living {
  jobs: LiveJob[];
  runs: number;
  hosts: string[];
}

export interface Alert {
  rule: string;
  run_id: string;
  instance?: string;
  state: "pending" | "firing" | "resolved";
  severity: Level;
  sentence: string;
  since?: string;
  fired_at?: string;
  resolved_at?: string;
  silenced_by?: string;
}

export interface Silence {
  id: string;
  where: string;
  rules: string[];
  until: string;
  active: boolean;
}

export interface AlertsTold {
  alerts: Alert[];
}

/** When steps were taken, at some of them. */
export interface StepClock {
  rank: number;
  source: string;
  writer: string;
  step: number[];
  t: number[];
  steps_per_second: (number | null)[];
}

export interface Clocks {
  run_id: string;
  clocks: StepClock[];
}

export interface FieldTold {
  name: string;
  holds: string;
  operators: string[];
  example?: string;
  values?: string[];
}

export interface SmallLine {
  key: string;
  unit: string;
  values: (number | null)[];
  last: number | string;
}

export interface Glance {
  run_id: string;
  health?: "good" | "warning" | "critical";
  lines?: Record<string, SmallLine>;
}

export interface Glances {
  runs: Glance[];
  waiting: string[];
}
