// Apply Recommended Settings: a new job filled in from the advice, to look at, to edit and to take along. Nothing is
// written or started on the server.
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, isSaved, type Problem, send } from "../api.ts";
import { Command, copy, Failed, NOT_COPIED, Skeleton } from "../parts/bits.tsx";
import { useModal } from "../parts/overlays.tsx";
import type { Recommendation } from "../types.ts";
import { canSave, download, saveAs } from "./files.ts";
import type { Applied, Context } from "./types.ts";

interface Props {
  runId: string;
  advice: readonly Recommendation[];
  context: Context | undefined;
}

/** A config that the reader chose from their own disk: comments and order stay. */
interface Chosen {
  name: string;
  text: string;
  format: string;
}

const FORMATS: Record<string, string> = { json: "json", toml: "toml", yaml: "yaml", yml: "yaml", sh: "batch_script", sbatch: "batch_script" };

export function Apply(props: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="apply">
      <button type="button" class="main" onClick={() => setOpen(true)}>
        Apply Recommended Settings
      </button>
      {isOpen && <NewJob {...props} close={() => setOpen(false)} />}
    </div>
  );
}

function NewJob({ runId, advice, context, close }: Props & { close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useModal(box);
  const rules = [...new Set(advice.map((one) => one.rule))];
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<Chosen>();
  const only = rules.filter((rule) => !left.has(rule));
  const isKnown = chosen !== undefined || context?.config !== undefined;
  const made = useApplied(runId, isKnown ? only : [], chosen);
  const name = chosen?.name ?? "config.json";
  const toggle = (rule: string): void => setLeft((before) => (before.has(rule) ? new Set([...before].filter((one) => one !== rule)) : new Set([...before, rule])));
  return (
    <dialog ref={box} class="new-job" aria-label="New job with the recommended settings" onClose={close}>
      <div class="title">
        <h2>New job with the recommended settings</h2>
        <span class="grow" />
        <button type="button" class="quiet" onClick={() => box.current?.close()}>
          Close
        </button>
      </div>
      {!isSaved() && <Which advice={advice} left={left} toggle={toggle} />}
      {context && !isKnown ? (
        <Unrecorded isOnCommand={left.size === 0 && context.again_advised !== undefined} />
      ) : made.problem ? (
        <Failed problem={made.problem} />
      ) : made.applied ? (
        <Made applied={made.applied} name={name} advice={advice} />
      ) : (
        only.length > 0 && <Skeleton lines={8} />
      )}
      {only.length === 0 && <p class="muted">Nothing is taken over.</p>}
      {!isSaved() && <Own choose={setChosen} />}
      <Run context={context} isWhole={left.size === 0} />
    </dialog>
  );
}

function useApplied(runId: string, only: readonly string[], chosen: Chosen | undefined): { applied?: Applied; problem?: Problem } {
  const [state, setState] = useState<{ applied?: Applied; problem?: Problem }>({});
  const key = JSON.stringify([runId, only, chosen]);
  useEffect(() => {
    let isOld = false;
    setState({});
    if (only.length === 0) return;
    const sent = chosen && { config: chosen.text, format: chosen.format };
    send<Applied>("POST", `/api/jobs/${encodeURIComponent(runId)}/apply`, { ...sent, only }).then(
      (applied) => isOld || setState({ applied }),
      (problem: unknown) => isOld || setState({ problem: asProblem(problem) }),
    );
    return () => {
      isOld = true;
    };
  }, [key]);
  return state;
}

function Which({ advice, left, toggle }: { advice: readonly Recommendation[]; left: ReadonlySet<string>; toggle: (rule: string) => void }) {
  return (
    <fieldset>
      <legend>Take over</legend>
      {advice.map((one) => (
        <label key={`${one.rule} ${one.config_path}`}>
          <input type="checkbox" checked={!left.has(one.rule)} onChange={() => toggle(one.rule)} /> {one.title} <code>{one.config_path}</code>
        </label>
      ))}
    </fieldset>
  );
}

/** No config is known: what there is to do about it. */
function Unrecorded({ isOnCommand }: { isOnCommand: boolean }) {
  return (
    <p class="muted">
      {isOnCommand && "The command below has the advice on it. "}
      No config was recorded with this run: choose the file it was started with, and the advice is put into that.
    </p>
  );
}

function Made({ applied, name, advice }: { applied: Applied; name: string; advice: readonly Recommendation[] }) {
  const given = typeof applied.config === "string" ? applied.config : `${JSON.stringify(applied.config, null, 2)}\n`;
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  // a notice of the page would lie under the dialog
  const [done, setDone] = useState("");
  const save = async (): Promise<void> => {
    try {
      const saved = await saveAs(name, text);
      setDone(saved === undefined ? "" : `Saved as ${saved}`);
    } catch (error) {
      setDone(`Cannot be saved: ${String(error)}`);
    }
  };
  return (
    <>
      <Diff text={applied.diff} />
      <ByHand applied={applied} advice={advice} />
      <label class="wide">
        Config of the new job
        <textarea rows={Math.min(14, text.split("\n").length + 1)} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <p class="buttons">
        <button type="button" onClick={() => void copy(text).then((isDone) => setDone(isDone ? "Copied" : `${NOT_COPIED}: mark the text and press Ctrl+C`))}>
          Copy
        </button>
        <button type="button" onClick={() => download(name, text)}>
          Download
        </button>
        {canSave() && (
          <button type="button" onClick={() => void save()}>
            Save as…
          </button>
        )}
        {text !== given && (
          <button type="button" class="quiet" onClick={() => setText(given)}>
            Undo my edits
          </button>
        )}
        <span class="muted" role="status">
          {done}
        </span>
      </p>
    </>
  );
}

function Diff({ text }: { text: string }) {
  if (!text) return <p class="muted">Nothing of it changes in this config.</p>;
  const lines = text.split("\n").filter((line, place, all) => place > 1 && !(place === all.length - 1 && line === ""));
  return (
    <pre class="diff" role="group" aria-label="Changes" tabIndex={0}>
      {lines.map((line, place) => (
        <span key={place} class={line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : line.startsWith("@@") ? "muted" : ""}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** Advice without a place in the config: of the scheduler, or of the command. */
function ByHand({ applied, advice }: { applied: Applied; advice: readonly Recommendation[] }) {
  if (applied.skipped.length === 0) return null;
  return (
    <div class="skipped">
      {applied.skipped.map((one) => (
        <p class="muted" key={`${one.rule} ${one.config_path}`}>
          By hand: {advice.find((other) => other.rule === one.rule)?.action ?? one.config_path} ({one.reason})
        </p>
      ))}
    </div>
  );
}

function Own({ choose }: { choose: (chosen: Chosen) => void }) {
  const [problem, setProblem] = useState("");
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    const format = FORMATS[file.name.slice(file.name.lastIndexOf(".") + 1).toLowerCase()];
    setProblem(format ? "" : `${file.name} is none of ${Object.keys(FORMATS).join(", ")}`);
    if (format) choose({ name: file.name, text: await file.text(), format });
  };
  return (
    <p>
      <label>
        Into a file of your own, comments and order kept:{" "}
        <input
          type="file"
          accept={Object.keys(FORMATS).map((ending) => `.${ending}`).join(",")}
          onChange={(event) => void read(event.currentTarget.files?.[0])}
        />
      </label>
      {problem && <span role="alert"> {problem}</span>}
    </p>
  );
}

/** The command of the new job; the advice that it can carry is on it only where all of it is taken over. */
function Run({ context, isWhole }: { context: Context | undefined; isWhole: boolean }) {
  const line = (isWhole ? context?.again_advised : undefined) ?? context?.again;
  if (!line) return null;
  return (
    <>
      <h3>Run it</h3>
      {context?.config_path && (
        <p class="muted">
          The config was read from <code>{context.config_path}</code>: save the new one there, or name another file on the command.
        </p>
      )}
      {!isWhole && context?.again_advised && <p class="muted">The command as it was: what you take over of the advice about the command itself is yours to add.</p>}
      <Command text={line} />
    </>
  );
}
