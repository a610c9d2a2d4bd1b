// Light, dark, or as the system says; charts ask for their colours here, since a canvas does not read style sheets.
import { computed, effect, signal } from "@preact/signals";

export type Choice = "system" | "light" | "dark";

const KEY = "jobmeter.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", (event) => (systemDark.value = event.matches));

export const choice = signal<Choice>((localStorage.getItem(KEY) as Choice | null) ?? "system");
/** Paper is white: charts are drawn anew in colours that show on it. */
const isPrinting = signal(false);
addEventListener("beforeprint", () => (isPrinting.value = true));
addEventListener("afterprint", () => (isPrinting.value = false));

export const isDark = computed(() => !isPrinting.value && (choice.value === "system" ? systemDark.value : choice.value === "dark"));

effect(() => {
  document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
  localStorage.setItem(KEY, choice.value);
});

export function cycle(): void {
  choice.value = choice.value === "system" ? "light" : choice.value === "light" ? "dark" : "system";
}

/** Distinguishable by people who confuse red and green, on both grounds (after Okabe and Ito). */
const LIGHT = ["#0072b2", "#d55e00", "#008f66", "#b0568a", "#8a6d00", "#3a8fbf", "#6b4fa0", "#555e68"] as const;
const DARK = ["#56b4e9", "#f0803c", "#2cc295", "#e08fbe", "#e0c04c", "#8ecdf2", "#b39be0", "#a9b3bd"] as const;

export function colour(place: number): string {
  const palette = isDark.value ? DARK : LIGHT;
  return palette[place % palette.length] as string;
}

export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
