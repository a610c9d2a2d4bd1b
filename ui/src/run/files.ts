// Text to the reader's own disk: as a download, or where the browser lets one choose the place.
import { save } from "../files.ts";

interface Writable {
  write(text: string): Promise<void>;
  close(): Promise<void>;
}

type Picker = (options: { suggestedName: string }) => Promise<{ name: string; createWritable(): Promise<Writable> }>;

function picker(): Picker | undefined {
  return (globalThis as { showSaveFilePicker?: Picker }).showSaveFilePicker?.bind(globalThis);
}

export const canSave = (): boolean => picker() !== undefined;

/** Let the reader choose a file, and write it; gives its name, nothing where they thought better of it. */
export async function saveAs(suggestedName: string, text: string): Promise<string | undefined> {
  const pick = picker();
  if (!pick) return undefined;
  try {
    const handle = await pick({ suggestedName });
    const file = await handle.createWritable();
    await file.write(text);
    await file.close();
    return handle.name;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return undefined;
    throw error;
  }
}

export function download(name: string, text: string): void {
  save(name, new Blob([text]));
}
