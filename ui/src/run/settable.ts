// Which advice can be put into a config or onto a command, and what stands there now.
import type { Recommendation, RunShown } from "../types.ts";
import type { Context } from "./types.ts";

/** `train.lr`, `process[0].lr`: what a file of settings has; variables of the environment are written in capitals. */
const IN_CONFIG = /^(?![A-Z][A-Z0-9_]*$)[A-Za-z_][\w-]*(\[\d+\])*([./@][\w-]+(\[\d+\])*)*$/;

/** Whether an advice has a place in a config, on the job's command or in a batch script; what is done by hand has none. */
export function isSettable({ config_path }: Recommendation, run: RunShown, context: Context | undefined): boolean {
  if (config_path === null) return false;
  if (IN_CONFIG.test(config_path)) return true;
  const isOnCommand = run.command?.some((word) => word === config_path || word.startsWith(`${config_path}=`)) ?? false;
  return isOnCommand || (context?.slurm !== undefined && config_path.startsWith("--"));
}

/** What the setting is now; undefined where nobody knows. Only a config that was read can be said to have no such key. */
export function currentOf({ config_path, current_value }: Recommendation, context: Context | undefined): string | undefined {
  if (current_value !== null && current_value !== undefined) return typeof current_value === "string" ? current_value : JSON.stringify(current_value);
  if (config_path === null || !IN_CONFIG.test(config_path)) return undefined;
  return context?.config === undefined ? undefined : "not set";
}
