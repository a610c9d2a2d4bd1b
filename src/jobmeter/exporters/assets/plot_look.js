// Looking around: a cross hair shared by all panels, zoom by drag, by buttons and by keys.

function valueAt(line, seconds) {
  const times = line.times;
  if (!times.length || seconds < times[0] - 1e-9 || seconds > times[times.length - 1] + 1e-9) return null;
  const after = Math.min(firstAtOrAfter(times, seconds), times.length - 1);
  if (line.step) return { value: line.values[after], seconds };
  const before = Math.max(after - 1, 0);
  const nearest = seconds - times[before] < times[after] - seconds ? before : after;
  return { value: line.values[nearest], seconds: times[nearest] };
}

function drawCross() {
  for (const panel of panels) {
    const { cross, scale } = panel;
    cross.replaceChildren();
    if (view.drag) {
      const from = scale.x(Math.min(view.drag.from, view.drag.to)), to = scale.x(Math.max(view.drag.from, view.drag.to));
      svg(cross, "rect", { class: "select", x: from, y: scale.top, width: to - from, height: scale.floor - scale.top });
    }
    if (view.at !== null) {
      const x = Math.round(scale.x(view.at)) + 0.5;
      svg(cross, "line", { class: "cross", x1: x, x2: x, y1: scale.top, y2: scale.floor });
    }
    for (const line of panel.lines.filter(one => one.role !== "peer")) {
      const read = view.at === null ? null : valueAt(line, view.at);
      const known = read && read.value !== null;
      line.output.className = view.at === null ? "rest" : "";
      line.output.textContent = view.at === null ? line.rest : known ? show(panel.quantity, read.value) : "–";
      if (known && !line.hidden && line.role !== "stacked") {
        svg(cross, "circle", { class: "at " + line.colour, cx: scale.x(read.seconds), cy: scale.y(read.value), r: 3.5 });
      }
    }
    if (panel.peersOutput) tellPeers(panel);
  }
  tell();
}

// Of many ranks only the least and the most can be read.
function tellPeers(panel) {
  const output = panel.peersOutput;
  output.className = view.at === null ? "rest" : "";
  if (view.at === null) { output.textContent = ""; return; }
  const reads = panel.lines.filter(line => line.role === "peer").map(line => valueAt(line, view.at));
  const values = reads.filter(read => read && read.value !== null).map(read => read.value);
  output.textContent = values.length
    ? show(panel.quantity, Math.min(...values)) + " to " + show(panel.quantity, Math.max(...values)) : "–";
}

function tell() {
  const output = document.querySelector(".bar output");
  output.replaceChildren();
  if (view.at === null) {
    output.append(where(view.from) + " to " + where(view.to));
  } else {
    html(output, "b", "", where(view.at));
    output.append("  " + clock(view.at));
    const close = (view.to - view.from) * 0.008;
    for (const mark of CHART.marks) {
      if (Math.abs(mark.seconds - view.at) <= close) html(output, "span", mark.severe ? "severe" : "", "  " + mark.label);
    }
    for (const phase of CHART.phases) {
      if (phase.start <= view.at && view.at <= phase.end) output.append("  " + phase.label);
    }
  }
  const whole = view.from <= 0 && view.to >= (CHART.seconds || 1);
  document.querySelector("[data-do=reset]").disabled = whole;
  document.querySelector("[data-do=out]").disabled = whole;
}

function look(from, to) {
  const whole = CHART.seconds || 1, length = Math.min(Math.max(to - from, whole / 20000), whole);
  view.from = Math.min(Math.max(from, 0), whole - length);
  view.to = view.from + length;
  drawAll();
}

function zoom(factor, around) {
  const centre = around === null || around === undefined ? (view.from + view.to) / 2 : around;
  look(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
}

function drawAll() {
  panels.forEach(drawPanel);
  drawCross();
}

function secondsAt(panel, event) {
  const left = panel.svg.getBoundingClientRect().left + MARGIN.left;
  const share = (event.clientX - left) / panel.scale.width;
  return view.from + Math.min(Math.max(share, 0), 1) * (view.to - view.from);
}

function listen(panel) {
  const root = panel.svg;
  root.addEventListener("pointermove", event => {
    view.at = secondsAt(panel, event);
    if (view.drag) view.drag.to = view.at;
    drawCross();
  });
  root.addEventListener("pointerdown", event => {
    view.at = secondsAt(panel, event);
    if (event.pointerType !== "touch" && event.button === 0) {
      root.setPointerCapture(event.pointerId);
      view.drag = { from: view.at, to: view.at };
    }
    drawCross();
  });
  // a click is for zooming: it selects no text and moves no focus
  root.addEventListener("mousedown", event => event.preventDefault());
  root.addEventListener("pointerup", () => {
    const drag = view.drag;
    view.drag = null;
    if (drag && Math.abs(drag.to - drag.from) > (view.to - view.from) * 0.008) {
      look(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to));
    } else drawCross();
  });
  root.addEventListener("pointercancel", () => { view.drag = null; drawCross(); });
  root.addEventListener("pointerleave", event => {
    if (event.pointerType === "touch") return;
    if (!view.drag) view.at = null;
    drawCross();
  });
  root.addEventListener("dblclick", () => look(0, CHART.seconds || 1));
  root.addEventListener("keydown", event => {
    const step = (view.to - view.from) / 100, keys = {
      ArrowLeft: () => { view.at = Math.max((view.at ?? view.to) - step, view.from); drawCross(); },
      ArrowRight: () => { view.at = Math.min((view.at ?? view.from) + step, view.to); drawCross(); },
      "+": () => zoom(0.5, view.at), "-": () => zoom(2, view.at),
      Escape: () => { view.at = null; look(0, CHART.seconds || 1); },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}
