// What happens to a run, counted: what is shown of it is read again whenever the count moves on.
import { useEffect, useState } from "preact/hooks";
import { throttle } from "../load.ts";
import { isAbout, listen } from "../stream.ts";

/** Count what happens to a run, and what may have been missed; one that `isOver` can have missed nothing before the first word. */
export function useNews(id: string, isOver: boolean, milliseconds: number): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const look = throttle(milliseconds, () => setVersion((before) => before + 1));
    return listen((event) => {
      if (isAbout(event, id, isOver)) look();
    });
  }, [id, isOver]);
  return version;
}
