// A report lies in a folder, in a mail, or in a frame that may do next to nothing (ai-toolkit's tab is one): what a page
// of a server takes for granted is not there. This stands in for it, so it comes before everything else.

class Forgetful implements Storage {
  [name: string]: unknown;
  readonly #kept = new Map<string, string>();

  get length(): number {
    return this.#kept.size;
  }

  clear(): void {
    this.#kept.clear();
  }

  getItem(key: string): string | null {
    return this.#kept.get(key) ?? null;
  }

  key(place: number): string | null {
    return [...this.#kept.keys()][place] ?? null;
  }

  removeItem(key: string): void {
    this.#kept.delete(key);
  }

  setItem(key: string, value: string): void {
    this.#kept.set(key, value);
  }
}

// all files of a machine share one storage: what a reader chose in one report is no choice for the others
for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(globalThis, name, { value: new Forgetful() });
}
// the address of a file says nothing about the view; in a frame it cannot even be written
history.pushState = history.replaceState = () => undefined;
