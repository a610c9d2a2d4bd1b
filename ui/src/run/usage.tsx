// Who used it: by command.
import * as format from "../format.ts";
import type { RunShown } from "../types.ts";

export function Usage({ run }: { run: RunShown }) {
  if (!run.by_command?.length) return null;
  return (
    <section class="panel">
      <h2>Who used it</h2>
      <table class="plain">
        <thead>
          <tr>
            <th>Command</th>
            <th class="number">CPU</th>
            <th class="number">Memory</th>
            <th class="number">Processes</th>
          </tr>
        </thead>
        <tbody>
          {run.by_command.slice(0, 12).map((one) => (
            <tr key={one.command}>
              <td>{one.command}</td>
              <td class="number">{one.cpu_seconds === undefined ? "" : format.seconds(one.cpu_seconds)}</td>
              <td class="number">{one.peak_rss_bytes === undefined ? "" : format.bytes(one.peak_rss_bytes)}</td>
              <td class="number">{one.processes}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
