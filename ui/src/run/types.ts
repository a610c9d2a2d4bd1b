// Answers of the API that the page of a run alone reads.
export interface Prediction {
  quantity: string;
  unit: string;
  before: number;
  after: number;
  low: number;
  high: number;
}

/** An advice on an earlier run that this one followed. */
export interface Followed {
  rule: string;
  run_id?: string;
  config_path?: string;
  value?: unknown;
  predicted: Prediction;
  actual: number;
}

export interface Used {
  instance: string;
  pid?: number;
  command?: string;
  first_seen?: string;
  last_seen?: string;
  cpu_seconds?: number;
  peak_rss_bytes?: number;
  read_bytes?: number;
  write_bytes?: number;
  rank?: number;
  role?: string;
}

export interface Processes {
  processes: Used[];
  total: number;
  by_command: { command: string; cpu_seconds?: number; peak_rss_bytes?: number; processes?: number }[];
  roles: Record<string, { processes: number; cpu_seconds?: number; memory_peak_bytes?: number }>;
}

export interface Measured {
  key: string;
  unit: string;
  about: string;
  summary: Record<string, number | string>;
}

export interface Context {
  config?: unknown;
  config_path?: string;
  host?: Record<string, unknown>;
  limits?: { memory_bytes?: number; memory_source?: string; cpus?: number; cpus_source?: string };
  git?: Record<string, unknown>;
  python?: string;
  packages?: Record<string, string>;
  versions?: Record<string, unknown>;
  frameworks?: unknown;
  environment?: Record<string, string>;
  slurm?: Record<string, unknown>;
  options?: Record<string, unknown>;
  recorder?: { version?: string };
  ended_by?: string;
  resumed?: string;
  again?: string;
  again_advised?: string;
  measured: { source: string; keys: Measured[] }[];
  missing: Record<string, string>;
  inexact?: Record<string, string>;
  dropped?: Record<string, number>;
  origin: string;
}

/** A config with advice in it: text where a text was sent, else the recorded document. */
export interface Applied {
  config: unknown;
  applied: { rule: string; config_path: string | null; current_value: unknown; recommended_value: unknown }[];
  skipped: { rule: string; config_path: string | null; reason: string }[];
  diff: string;
}
