// Words and ticks: the same rounding as the terminal and the figures have.

function significant(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

// Small numbers as 5e-5: rates of learning are all small.
function metric(value, digits) {
  const size = Math.abs(value);
  if (value !== 0 && (size < 0.001 || size >= 1e6)) {
    return value.toExponential(digits - 1).replace(/(\.\d*?)0*e/, "$1e").replace(/\.e/, "e").replace("e+", "e");
  }
  if (size >= 10 ** (digits - 1)) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(digits)));
}

function bytes(value) {
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let step = 0;
  while (Math.abs(value) >= 1023.5 && step < names.length - 1) { value /= 1024; step += 1; }
  return significant(value) + " " + names[step];
}

function show(unit, value) {
  switch (unit) {
    case "bytes": return bytes(value);
    case "bytes/s": return bytes(value) + "/s";
    case "percent": return significant(value) + " %";
    case "ratio": return significant(100 * value) + " %";
    case "seconds": return significant(value) + " s";
    case "count/s": case "1/s": return Math.abs(value) < 1e6 ? significant(value) + "/s" : significant(value / 1e6) + " M/s";
    case "joules": return significant(value) + " J";
    case "watts": return significant(value) + " W";
    case "celsius": return significant(value) + " °C";
    case "metric": return metric(value, 4);
    case "hertz": return significant(value) + " Hz";
    default: return significant(value);
  }
}

function moment(seconds) {
  if (seconds <= 0) return "0";
  if (seconds < 1) return Number((seconds * 1000).toPrecision(3)) + "ms";
  if (seconds < 59.95) return Number(seconds.toPrecision(3)) + "s";
  const whole = Math.round(seconds);
  for (const [size, name, fine, word] of [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]]) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / fine);
    return Math.floor(whole / size) + name + (rest ? String(rest).padStart(2, "0") + word : "");
  }
  return whole + "s";
}

// A place on the axis all panels share: a moment of the run, or a step of a training without times.
function where(place) {
  return CHART.first_step === null ? moment(place) : "step " + Math.round(place + CHART.first_step).toLocaleString("en-US");
}

function clock(seconds) {
  if (CHART.started_at === null || CHART.first_step !== null) return "";
  return new Date((CHART.started_at + seconds) * 1000).toISOString().slice(11, 19) + " UTC";
}

function valueTicks(unit, top, wanted) {
  const scale = unit === "ratio" ? 100 : 1, rough = top * scale / wanted;
  let step;
  if (unit === "bytes" || unit === "bytes/s") step = 2 ** Math.ceil(Math.log2(rough) - 1e-9);
  else {
    const power = 10 ** Math.floor(Math.log10(rough));
    step = power * [1, 2, 5, 10].find(s => s * power >= rough * (1 - 1e-9));
    if (unit === "count") step = Math.max(step, 1);
  }
  const ticks = [];
  for (let i = 0; i * step / scale <= top * (1 + 1e-9); i += 1) ticks.push(i * step / scale);
  return ticks;
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find(s => s * power >= rough * (1 - 1e-9));
}

function panelTicks(panel, wanted) {
  const top = ceiling(panel);
  const tick = value => [value, value === 0 ? "0" : panel.quantity === "metric" ? metric(value, 3) : show(panel.quantity, value)];
  if (panel.logarithmic) return decades(panel.bottom, top, wanted).map(tick);
  if (panel.bottom === 0) return valueTicks(panel.quantity, top, wanted).map(tick);
  let step = 1;
  for (const finer of [1, 2, 4, 8]) {
    step = roundStep((top - panel.bottom) / (wanted * finer));
    if (Math.floor(top / step + 1e-9) > Math.ceil(panel.bottom / step - 1e-9)) break;
  }
  const ticks = [];
  // far from 0 neighbours differ in late digits only
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const fine = panel.quantity === "metric" && decimals <= 6;
  for (let i = Math.ceil(panel.bottom / step - 1e-9); i <= Math.floor(top / step + 1e-9); i += 1) {
    ticks.push(fine && i ? [i * step, (i * step).toFixed(decimals)] : tick(i * step));
  }
  return ticks;
}

function ceiling(panel) {
  if (panel.logarithmic) return panel.top * (panel.top / panel.bottom) ** 0.05;
  return panel.bottom + (panel.top - panel.bottom) * 1.05;
}

function decades(low, high, wanted) {
  let inside = [];
  for (const parts of [[1], [1, 3], [1, 2, 5]]) {
    inside = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const part of parts) {
        const value = part * 10 ** power;
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) inside.push(value);
      }
    }
    if (inside.length >= 2) break;
  }
  if (inside.length < 2) {
    // within one decade the axis is hardly bent: round values serve
    const step = roundStep((high - low) / wanted);
    inside = [];
    for (let i = Math.ceil(low / step); i * step <= high; i += 1) inside.push(i * step);
    return inside;
  }
  const apart = Math.max(1, Math.ceil(inside.length / wanted));
  return inside.filter((_, i) => i % apart === 0);
}

// Places along the shared axis and what is written there.
function axisTicks(from, to, wanted) {
  if (CHART.first_step === null) return timeTicks(from, to, wanted).map(seconds => [seconds, moment(seconds)]);
  const step = Math.max(roundStep(Math.max(to - from, 1) / wanted), 1), ticks = [];
  for (let i = Math.ceil((from + CHART.first_step) / step); i * step <= to + CHART.first_step; i += 1) {
    ticks.push([i * step - CHART.first_step, (ticks.length ? "" : "step ") + (i * step).toLocaleString("en-US")]);
  }
  return ticks;
}

function timeTicks(from, to, wanted) {
  const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
    3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 604800, 1209600, 2592000, 7776000, 15552000, 31536000];
  const step = steps.find(s => s >= (to - from) / wanted) || to - from;
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i += 1) ticks.push(i * step);
  return ticks;
}
