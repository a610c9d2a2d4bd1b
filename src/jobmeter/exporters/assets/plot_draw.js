// Panels into SVG. Data enters the page as text and attributes only, never as markup.

const SVG = document.querySelector("template").content.firstElementChild.namespaceURI;
const MARGIN = { left: 70, right: 12, top: 10, bottom: 20 };
const view = { from: 0, to: CHART.seconds || 1, at: null, drag: null };
const panels = [];

function svg(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function html(parent, name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function firstAtOrAfter(times, wanted) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

// The points in sight, one either side, as runs without a break; more than the screen shows become extremes.
function runs(line, values, scale) {
  const begin = Math.max(firstAtOrAfter(line.times, view.from) - 1, 0);
  const end = Math.min(firstAtOrAfter(line.times, view.to) + 2, line.times.length);
  const found = [];
  let open = null;
  for (let i = begin; i < end; i += 1) {
    if (values[i] === null) { open = null; continue; }
    if (!open) {
      open = [];
      found.push(open);
      if (line.step && i > 0) open.push([scale.x(line.times[i - 1]), scale.y(values[i])]);
    }
    open.push([scale.x(line.times[i]), scale.y(values[i])]);
  }
  return found.map(run => run.length > 3 * scale.width ? extremes(run) : run);
}

function extremes(run) {
  const kept = [];
  for (let i = 0; i < run.length;) {
    const column = Math.floor(run[i][0]);
    let low = i, high = i, j = i;
    for (; j < run.length && Math.floor(run[j][0]) === column; j += 1) {
      if (run[j][1] > run[low][1]) low = j;
      if (run[j][1] < run[high][1]) high = j;
    }
    for (const index of [...new Set([i, Math.min(low, high), Math.max(low, high), j - 1])]) kept.push(run[index]);
    i = j;
  }
  return kept;
}

function trace(run, step) {
  let path = "";
  run.forEach(([x, y], i) => {
    const place = x.toFixed(1) + "," + y.toFixed(1);
    if (i === 0) path += "M" + place;
    else if (step && y !== run[i - 1][1]) path += "V" + y.toFixed(1) + "H" + x.toFixed(1);
    else path += "L" + place;
  });
  return path;
}

function closed(above, below, step) {
  const back = [...below].reverse();
  let path = trace(above, step);
  back.forEach(([x, y], i) => {
    if (step && i > 0) path += "H" + x.toFixed(1) + "V" + y.toFixed(1);
    else path += "L" + x.toFixed(1) + "," + y.toFixed(1);
  });
  return path + "Z";
}

function drawLine(group, panel, line, scale) {
  const colour = " " + line.colour;
  if (line.low && line.role !== "peer") {
    const low = runs(line, line.low, scale), high = runs(line, line.high, scale);
    high.forEach((run, i) => svg(group, "path", { class: "band" + colour, d: closed(run, low[i], line.step) }));
  }
  for (const run of runs(line, line.values, scale)) {
    if (line.step && line.role === "main" && panel.lines[0].role !== "stacked") {
      const floor = [[run[0][0], scale.floor], [run[run.length - 1][0], scale.floor]];
      svg(group, "path", { class: "area" + colour, d: trace(run, line.step) + "L" + floor[1] + "L" + floor[0] + "Z" });
    }
    svg(group, "path", { class: "line " + line.role + colour, d: trace(run, line.step) });
    if (!line.step && line.role !== "peer" && (run.length === 1 || run.length < 60 && run.length * 12 < scale.width)) {
      for (const [x, y] of run) svg(group, "circle", { class: "at small" + colour, cx: x, cy: y, r: 2.4 });
    }
  }
}

function drawStack(group, panel, scale) {
  let below = null;
  for (const line of panel.lines.filter(l => l.role === "stacked" && !l.hidden)) {
    const sums = line.values.map((value, i) => (value || 0) + (below ? below[i] : 0));
    const floor = below || line.values.map(() => 0);
    const [top] = runs(line, sums, scale), [bottom] = runs(line, floor, scale);
    if (top) svg(group, "path", { class: "layer " + line.colour, d: closed(top, bottom, line.step) });
    below = sums;
  }
}

// How high a value stands between the two ends of its axis, 0 to 1.
function share(panel, value) {
  const top = ceiling(panel);
  if (panel.logarithmic) return Math.log(Math.max(value, panel.bottom) / panel.bottom) / Math.log(top / panel.bottom);
  return (value - panel.bottom) / (top - panel.bottom);
}

function drawPanel(panel) {
  const width = panel.box.clientWidth, height = width < 560 ? 138 : 156;
  // the first panel has a row for the words of marks
  const top = MARGIN.top + (CHART.marks.length && panel === panels[0] ? 12 : 0);
  const scale = {
    top,
    width: width - MARGIN.left - MARGIN.right,
    floor: height - MARGIN.bottom,
    x: t => MARGIN.left + (t - view.from) / (view.to - view.from) * (width - MARGIN.left - MARGIN.right),
    y: v => height - MARGIN.bottom - share(panel, v) * (height - top - MARGIN.bottom),
  };
  panel.scale = scale;
  const root = panel.svg;
  root.replaceChildren();
  root.setAttribute("height", height);
  root.setAttribute("viewBox", "0 0 " + width + " " + height);
  const clip = svg(svg(root, "clipPath", { id: "clip-" + panels.indexOf(panel) }), "rect",
    { x: MARGIN.left, y: 0, width: Math.max(scale.width, 1), height: scale.floor + 1 });
  clip.parentNode.setAttribute("clipPathUnits", "userSpaceOnUse");
  for (const [value, words] of panelTicks(panel, 4)) {
    const y = Math.round(scale.y(value)) + 0.5;
    svg(root, "line", { class: value ? "grid" : "floor", x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y });
    svg(root, "text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, words);
  }
  for (const [seconds, words] of axisTicks(view.from, view.to, Math.max(2, Math.floor(scale.width / 90)))) {
    const x = Math.round(scale.x(seconds)) + 0.5;
    svg(root, "line", { class: "grid", x1: x, x2: x, y1: top, y2: scale.floor });
    const anchor = x < MARGIN.left + 14 ? "start" : x > width - MARGIN.right - 14 ? "end" : "middle";
    svg(root, "text", { x, y: height - 5, "text-anchor": anchor }, words);
  }
  if (panel.bottom !== 0) {
    const y = Math.round(scale.floor) + 0.5;
    svg(root, "line", { class: "floor", x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y });
  }
  const inside = svg(root, "g", { "clip-path": "url(#clip-" + panels.indexOf(panel) + ")" });
  for (const phase of CHART.phases) {
    svg(inside, "rect", { class: "phase", x: scale.x(phase.start), y: top,
      width: Math.max(scale.x(phase.end) - scale.x(phase.start), 0), height: scale.floor - top });
  }
  drawStack(inside, panel, scale);
  for (const line of [...panel.lines].reverse()) {
    if (line.role !== "stacked" && !line.hidden) drawLine(inside, panel, line, scale);
  }
  drawSigns(inside, panel, scale);
  drawPeaks(root, panel, scale);
  panel.cross = svg(root, "g", { "clip-path": "url(#clip-" + panels.indexOf(panel) + ")" });
}

function drawSigns(inside, panel, scale) {
  for (const limit of panel.limits) {
    if (limit.value > panel.top) continue;
    const y = scale.y(limit.value);
    svg(inside, "line", { class: "limit", x1: MARGIN.left, x2: MARGIN.left + scale.width, y1: y, y2: y });
  }
  for (const mark of CHART.marks) {
    const x = scale.x(mark.seconds);
    svg(inside, "line", { class: "mark" + (mark.severe ? " severe" : ""), x1: x, x2: x, y1: scale.top, y2: scale.floor });
  }
  if (panel === panels[0]) labelMarks(inside, scale);
}

// Above the first panel: the number of each mark, its words where they end before the next; close ones share a place.
function labelMarks(inside, scale) {
  const right = MARGIN.left + scale.width, groups = [];
  CHART.marks.forEach((mark, i) => {
    const x = scale.x(mark.seconds), last = groups[groups.length - 1];
    if (x < MARGIN.left || x > right + 1) return;
    if (last && x - last.end < 18) { last.end = x; last.to = i + 1; } else groups.push({ mark, x, end: x, from: i + 1, to: i + 1 });
  });
  groups.forEach((group, i) => {
    const number = group.from === group.to ? String(group.from) : group.from + "-" + group.to;
    const words = group.from === group.to ? number + " " + group.mark.label : number;
    const last = i + 1 === groups.length, next = last ? right : groups[i + 1].x;
    const fits = words.length * 6.2 < next - group.x - 4;
    const left = last && !fits && group.x - (i ? groups[i - 1].end + 30 : MARGIN.left) > words.length * 6.2;
    svg(inside, "text", { class: group.mark.severe ? "severe" : "", x: group.x + (left ? 1 : -1), y: scale.top - 4,
      "text-anchor": left ? "end" : "start" }, fits || left ? words : number);
  });
}

function drawPeaks(root, panel, scale) {
  for (const peak of panel.peaks) {
    const seconds = peak.seconds === null ? CHART.seconds : peak.seconds;
    if (seconds < view.from || seconds > view.to) continue;
    const x = scale.x(seconds), y = scale.y(peak.value);
    if (peak.sampled) svg(root, "circle", { class: "peak", cx: x, cy: y, r: 4.5 });
    else svg(root, "path", { class: "between", d: "M" + x + "," + (y - 5) + "l5,5l-5,5l-5,-5Z" });
  }
}
