// Words and ticks: the same rounding as the terminal and the figures have.

function significant(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
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
    case "count/s": case "1/s": return significant(value) + "/s";
    case "joules": return significant(value) + " J";
    case "watts": return significant(value) + " W";
    case "celsius": return significant(value) + " °C";
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

function clock(seconds) {
  if (CHART.started_at === null) return "";
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

function timeTicks(from, to, wanted) {
  const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
    3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 604800, 1209600, 2592000, 7776000, 15552000, 31536000];
  const step = steps.find(s => s >= (to - from) / wanted) || to - from;
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i += 1) ticks.push(i * step);
  return ticks;
}
