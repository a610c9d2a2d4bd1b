// Numbers, sizes and times as people read them; the same words as the command line uses.

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

export function bytes(value: number): string {
  let rest = Math.abs(value);
  let power = 0;
  while (rest >= 1024 && power < SIZES.length - 1) {
    rest /= 1024;
    power += 1;
  }
  return `${value < 0 ? "-" : ""}${digits(rest)} ${SIZES[power]}`;
}

/** Three significant digits, no exponent where people would not write one. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  const places = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : Math.min(6, 2 - Math.floor(Math.log10(size)));
  return String(Number(value.toFixed(places)));
}

export function seconds(value: number): string {
  if (value < 0) return `-${seconds(-value)}`;
  if (value < 1e-3) return `${digits(value * 1e6)} µs`;
  if (value < 1) return `${digits(value * 1e3)} ms`;
  if (value < 60) return `${digits(value)} s`;
  const whole = Math.round(value);
  const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${String(minutes).padStart(2, "0")} min`;
  return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
}

export function percent(value: number): string {
  return `${digits(value)} %`;
}

/** A value of a measurement in its unit. */
export function amount(value: number, unit: string | null, perSecond = false): string {
  const tail = perSecond ? "/s" : "";
  switch (unit) {
    case "bytes":
      return bytes(value) + tail;
    case "seconds":
      return perSecond ? digits(value) : seconds(value);
    case "percent":
      return percent(value);
    case "celsius":
      return `${digits(value)} °C`;
    case "watts":
      return `${digits(value)} W`;
    case "joules":
      return perSecond ? `${digits(value)} W` : `${digits(value)} J`;
    default:
      return digits(value) + tail;
  }
}

export function ago(then: number, now: number): string {
  const past = Math.max(0, now - then);
  if (past < 60) return `${Math.round(past)} s ago`;
  if (past < 3600) return `${Math.round(past / 60)} min ago`;
  if (past < 86400) return `${Math.round(past / 3600)} h ago`;
  return `${Math.round(past / 86400)} d ago`;
}

/** A moment in the reader's own time zone. */
export function moment(epochSeconds: number): string {
  const date = new Date(epochSeconds * 1000);
  const pad = (number: number): string => String(number).padStart(2, "0");
  return (
    `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ` +
    `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
  );
}

export function epoch(iso: string | undefined): number | undefined {
  if (iso === undefined) return undefined;
  const parsed = Date.parse(iso);
  return Number.isNaN(parsed) ? undefined : parsed / 1000;
}
