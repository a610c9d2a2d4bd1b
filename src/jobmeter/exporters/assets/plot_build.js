// Building the page: legends first, because the width of a chart is known only when it stands.

function legendItem(parent, panel, line) {
  const button = html(parent, "button", "item");
  button.type = "button";
  button.title = line.about;
  button.setAttribute("aria-pressed", "true");
  html(button, "span", "swatch " + line.colour + (line.role === "faint" ? " dash" : ""));
  if (line.label) button.append(line.label + " ");
  if (line.named) html(button, "code", "", line.key);
  if (line.teller) button.append(" (" + line.teller + ")");
  line.output = html(button, "b", "rest", line.rest);
  // room for what a reading may need, so that nothing moves under the pointer
  line.output.style.minWidth = Math.max(line.rest.length, show(panel.quantity, panel.top).length) + "ch";
  button.addEventListener("click", () => {
    line.hidden = !line.hidden;
    button.setAttribute("aria-pressed", String(!line.hidden));
    drawAll();
  });
}

function peersItem(parent, panel, peers) {
  const button = html(parent, "button", "item");
  button.type = "button";
  button.setAttribute("aria-pressed", "true");
  html(button, "span", "swatch peers " + peers[0].colour);
  button.append(panel.peers + " ");
  panel.peersOutput = html(button, "b", "rest");
  panel.peersOutput.style.minWidth = "16ch";
  button.addEventListener("click", () => {
    for (const line of peers) line.hidden = !line.hidden;
    button.setAttribute("aria-pressed", String(!peers[0].hidden));
    drawAll();
  });
}

function words(parent, sign, text) {
  const made = html(parent, "span", "words");
  if (sign) html(made, "span", "swatch " + sign);
  made.append(text);
}

function build(panel) {
  const section = html(document.getElementById("panels"), "section", "panel");
  const legend = html(section, "div", "legend");
  html(legend, "h2", "", panel.heading);
  for (const line of panel.lines.filter(one => one.role !== "peer")) legendItem(legend, panel, line);
  const peers = panel.lines.filter(one => one.role === "peer");
  if (peers.length) peersItem(legend, panel, peers);
  for (const item of panel.words) words(legend, item.sign, item.words);
  if (panel.note) html(section, "p", "note", panel.note);
  panel.box = html(section, "div", "chart");
  panel.svg = svg(panel.box, "svg", { tabindex: "0", role: "img", "aria-label": panel.spoken });
  listen(panel);
  panels.push(panel);
}

CHART.panels.forEach(build);
if (panels.length) {
  document.querySelector(".bar").hidden = false;
  const actions = { in: () => zoom(0.5, view.at), out: () => zoom(2, view.at), reset: () => look(0, CHART.seconds || 1) };
  for (const button of document.querySelectorAll("[data-do]")) {
    button.addEventListener("click", () => actions[button.dataset.do]());
  }
  let drawn = 0;
  new ResizeObserver(() => {
    if (panels[0].box.clientWidth === drawn) return;
    drawn = panels[0].box.clientWidth;
    drawAll();
  }).observe(panels[0].box);
  drawAll();
}
