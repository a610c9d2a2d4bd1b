// A small sheet below a button; it closes by Escape and by a click beside it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Menu({ title, children }: { title: string; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      const element = box.current;
      if (!element?.open) return;
      const isBeside = event.type === "pointerdown" && !element.contains(event.target as Node);
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      if (isEscape && element.contains(document.activeElement)) element.querySelector("summary")?.focus();
      if (isBeside || isEscape) element.open = false;
    };
    addEventListener("pointerdown", close);
    addEventListener("keydown", close);
    return () => {
      removeEventListener("pointerdown", close);
      removeEventListener("keydown", close);
    };
  }, []);
  return (
    <details class="menu" ref={box}>
      <summary>{title}</summary>
      <div class="sheet">{children}</div>
    </details>
  );
}
