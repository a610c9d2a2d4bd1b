// Which runs are picked: one by one, from here to there, or all that are loaded.
import { useRef, useState } from "preact/hooks";

export interface Picking {
  ids: ReadonlySet<string>;
  share: "all" | "some" | "none";
  toggle: (id: string, isRange: boolean) => void;
  toggleAll: () => void;
  clear: () => void;
}

export function usePicking(shown: readonly string[]): Picking {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | undefined>(undefined);
  const toggle = (id: string, isRange: boolean): void => {
    const [from, to] = [last.current === undefined ? -1 : shown.indexOf(last.current), shown.indexOf(id)];
    last.current = id;
    setIds((before) => {
      const next = new Set(before);
      if (isRange && from >= 0 && to >= 0) {
        for (const one of shown.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(one);
      } else if (!next.delete(id)) next.add(id);
      return next;
    });
  };
  const isAll = shown.length > 0 && shown.every((id) => ids.has(id));
  return {
    ids,
    share: isAll ? "all" : ids.size ? "some" : "none",
    toggle,
    toggleAll: () => setIds(isAll ? new Set() : new Set(shown)),
    clear: () => setIds(new Set()),
  };
}
