// SPDX-License-Identifier: Apache-2.0
// Figures of the seeds again, by their numbers. Seed 000: the seed's world on the
// left and this study on the right, each with its own scale; what is predicted is
// hatched or dotted with open markers. Seed 002: accuracy on the left, loss on
// the right.
"use strict";
Figures.add((doc, { colour, devices, groups, isNum, narrow, paper, rising, seconds, soft, SYMBOLS, uniq }) => {
  const LEFT = "the seed, 4 × GTX 1080 Ti", RIGHT = "this study";
  const hatch = (shape) => ({ shape, fillmode: "overlay", fgcolor: paper(), size: 6, solidity: 0.3 });

  // Two panels side by side, or one above the other where there is no room.
  function panels(x, y, y2 = y, titles = [LEFT, RIGHT]) {
    const place = narrow ? [[[0, 1], [0.6, 1]], [[0, 1], [0, 0.4]]] : [[[0, 0.43], [0, 1]], [[0.57, 1], [0, 1]]];
    const title = (text, [[from], [, top]]) => ({ text, x: from, y: top, xref: "paper", yref: "paper", xanchor: "left", yanchor: "bottom",
      showarrow: false, font: { size: 12 } });
    return { annotations: [title(titles[0], place[0]), title(titles[1], place[1])],
      xaxis: { ...x, domain: place[0][0] }, yaxis: { ...y, domain: place[0][1] },
      xaxis2: { ...x, domain: place[1][0], anchor: "y2" }, yaxis2: { ...y2, domain: place[1][1], anchor: "x2" } };
  }
  // Values far enough apart on a logarithmic axis to be read.
  const apart = (values) => rising(values).filter((v, i, all) => i === 0 || i === all.length - 1 || [10, 20, 50, 100, 200].includes(v) ||
    !all.some((w) => [10, 20, 50, 100, 200, all[all.length - 1]].includes(w) && Math.abs(Math.log(w / v)) < 0.6));
  const on = (t) => (t.here ? { xaxis: "x2", yaxis: "y2" } : {});
  const said = (times) => times.map((t) => `${devices(t.ranks)} ${seconds(t.epoch_s)}${t.origin === "measured" ? "" : ` (${t.origin})`}`).join(", ");
  function interval(times) {
    return { type: "data", symmetric: false, thickness: 1.2, width: 2,
      array: times.map((t) => (isNum(t.epoch_hi_s) ? Math.max(0, t.epoch_hi_s - t.epoch_s) : 0)),
      arrayminus: times.map((t) => (isNum(t.epoch_lo_s) ? Math.max(0, t.epoch_s - t.epoch_lo_s) : 0)) };
  }

  function bars(figure) {
    // One device belongs to no way of spreading: it stands where the first does.
    const ways = uniq(figure.times.filter((t) => t.here && t.ranks > 1).map((t) => t.name));
    const slot = (t) => (t.here ? `here${t.ranks === 1 ? 0 : ways.indexOf(t.name)}` : t.origin);
    const tint = (t) => (t.here ? (t.ranks === 1 ? 0 : 1 + ways.indexOf(t.name)) : 6);
    const name = (t) => (!t.here ? (t.origin === "measured" ? "seed, measured" : t.name)
      : (t.ranks === 1 ? "one device" : t.name) + (t.origin === "measured" ? "" : ` (${t.origin})`));
    const order = figure.times.slice().sort((a, b) => a.here - b.here || tint(a) - tint(b));
    const traces = [...groups(order, (t) => `${t.here}|${name(t)}`).values()].map((some) => ({
      type: "bar", name: name(some[0]), offsetgroup: slot(some[0]), ...on(some[0]), x: some.map((t) => t.ranks), y: some.map((t) => t.epoch_s),
      marker: { color: colour(tint(some[0])), line: { color: colour(tint(some[0])), width: 1 },
        ...(some[0].origin === "measured" ? {} : { opacity: 0.75, pattern: hatch("/") }) },
      error_y: interval(some), hovertemplate: "%{x} devices: %{y:.4g} s an epoch<extra>" + name(some[0]) + "</extra>" }));
    return { title: figure.title, panels: true,
      caption: "Epoch time by number of devices. Each side has its own scale. Hatched: predicted.",
      alt: `${figure.title}. The seed: ${said(figure.times.filter((t) => !t.here && t.origin === "measured"))}. ` +
        `This study: ${said(figure.times.filter((t) => t.here && (t.ranks === 1 || t.name === ways[0])))}.`,
      traces,
      layout: { barmode: "group", bargap: 0.25, ...panels({ title: { text: "devices" }, dtick: 1 },
        { title: { text: "epoch (s)" }, rangemode: "tozero", tickformat: "~g", nticks: 6 }) } };
  }

  function lines(figure) {
    const ranks = rising(figure.times.map((t) => t.ranks)), batches = figure.times.map((t) => t.global_batch);
    const named = new Set();
    const traces = [...groups(figure.times, (t) => [t.ranks, t.here, t.origin].join("|")).values()].map((some) => {
      some.sort((a, b) => a.global_batch - b.global_batch);
      const i = ranks.indexOf(some[0].ranks), guess = some[0].origin !== "measured", group = devices(some[0].ranks);
      const first = !named.has(group);
      named.add(group);
      return { type: "scatter", mode: "lines+markers", name: group, legendgroup: group, showlegend: first, ...on(some[0]),
        x: some.map((t) => t.global_batch), y: some.map((t) => t.epoch_s), error_y: interval(some),
        line: { color: colour(i), width: guess ? 1.3 : 2, dash: guess ? "dot" : "solid" },
        marker: { symbol: SYMBOLS[i] + (guess ? "-open" : ""), size: guess ? 6 : 8, color: colour(i) },
        hovertemplate: `batch %{x}: %{y:.4g} s an epoch<extra>${group}, ${some[0].here ? some[0].name + ", " : ""}${some[0].origin}</extra>` };
    }).sort((a, b) => a.name.localeCompare(b.name));
    const spread = figure.times.find((t) => t.here && t.ranks > 1);
    const best = figure.times.filter((t) => t.here).reduce((a, b) => (a.epoch_s <= b.epoch_s ? a : b));
    return { title: figure.title, panels: true, wide: true,
      caption: "One line for each number of devices. Logarithmic axes, each side with its own scale. Dotted with open markers: predicted." +
        (spread ? ` Several devices here: ${spread.name}.` : ""),
      alt: `${figure.title}. The shortest of this study: ${seconds(best.epoch_s)} at batch ${best.global_batch} on ${devices(best.ranks)}, ${best.origin}.`,
      traces,
      layout: panels({ type: "log", title: { text: "global batch (samples)" }, tickmode: "array", tickvals: apart(batches), ticktext: apart(batches).map(String) },
        { type: "log", title: { text: "time per epoch (s)" }, tickformat: "~g", dtick: "D2" }) };
  }

  // Epoch time over x with its fitted lines; one device, which sends nothing, in grey.
  const fitted = (line, xs, fit, style, name, group) => {
    const at = [0, Math.max(...xs)];
    return { type: "scatter", mode: "lines", ...on(line), x: at, y: at.map((v) => fit.offset_s + fit.slope * v), name, legendgroup: group,
      showlegend: !!name, line: { width: 1.5, ...style }, hoverinfo: "skip" };
  };
  const dots = (line, xs, ys, i, size) => ({ type: "scatter", mode: "markers", ...on(line), x: xs, y: ys, showlegend: false,
    marker: { symbol: SYMBOLS[i] + (line.origin === "measured" ? "" : "-open"), size, color: colour(i) }, text: line.global_batch.map((b) => `batch ${b}`),
    hovertemplate: `%{text}: %{y:.4g} s an epoch<extra>${devices(line.ranks)}</extra>` });
  const rate = (slope) => (slope > 0 ? `${(1 / slope / 1e9).toPrecision(3)} GB/s` : "no rate");
  const world = (line) => (line.here ? "here" : "seed");
  function drawable(model) {
    const all = (doc.epoch_lines || []).filter((l) => l.model === model);
    const way = all.find((l) => l.here && l.ranks > 1);
    return all.filter((l) => l.ranks === 1 || (way && l.strategy === way.strategy && l.arm === way.arm))
      .sort((a, b) => a.here - b.here || a.ranks - b.ranks);
  }

  function againstBytes(model) {
    const some = drawable(model).filter((l) => l.by_bytes);
    if (!some.some((l) => l.here)) return null;
    const traces = some.flatMap((l) => {
      const xs = l.link_bytes.map((b) => b / 1e9), i = l.ranks - 1, fit = { ...l.by_bytes, slope: l.by_bytes.slope * 1e9 };
      const alone = { ...l.alone_by_bytes, slope: l.alone_by_bytes.slope * 1e9 }, guess = l.origin !== "measured";
      const to = l.by_bytes.slope_lo95 > 0 ? rate(l.by_bytes.slope_lo95) : "any rate";
      const first = some.find((o) => o.here === l.here) === l;
      return [fitted(l, xs, fit, { color: colour(i), dash: guess ? "dot" : "solid" },
        `${world(l)}, ${devices(l.ranks)}${guess ? ` (${l.origin})` : ""}: ` + (isNum(l.communication_share)
          ? `${rate(l.by_bytes.slope)} (${rate(l.by_bytes.slope_hi95).replace(" GB/s", "")} to ${to})${narrow ? "<br>" : ", "}${(100 * l.communication_share).toFixed(0)} % of the slope communication`
          : `no line, R² ${l.by_bytes.r2.toFixed(2)}`)),
      dots(l, xs, l.epoch_s, i, 7),
      ...(first ? [fitted(l, xs, alone, { color: colour(0), dash: "dash" }, `${world(l)}, one device at the same batch: sends nothing`),
        dots({ ...l, ranks: 1, origin: "measured" }, xs, l.alone_s, 0, 6)] : [])];
    });
    const l = some.find((o) => o.here);
    return { title: `${model}: epoch time against the bytes an epoch sends`, wide: true, tall: true, panels: true, traces,
      caption: "Bytes that cross a device's link, at the least. A slope reads as a rate (95 % interval); what one device has of it is no communication. Open markers, dotted: predicted.",
      alt: `${model}: epoch time over bytes sent with fitted lines. Here ${devices(l.ranks)} read ${rate(l.by_bytes.slope)}, ` +
        (isNum(l.communication_share) ? `${(100 * l.communication_share).toFixed(0)} % of the slope is communication.` : "the points follow no line."),
      layout: panels({ title: { text: "bytes over a link an epoch (GB)" }, rangemode: "tozero" }, { title: { text: "time per epoch (s)" }, rangemode: "tozero", tickformat: "~g" }) };
  }

  function againstInverse(model) {
    const some = drawable(model);
    if (!some.some((l) => l.here)) return null;
    const traces = some.flatMap((l) => {
      const xs = l.global_batch.map((b) => 1 / b), i = l.ranks - 1, guess = l.origin !== "measured", f = l.by_inverse_batch;
      return [fitted(l, xs, f, { color: colour(i), dash: guess ? "dot" : "solid" },
        `${world(l)}, ${devices(l.ranks)}${guess ? ` (${l.origin})` : ""}: ${seconds(Math.max(0, f.offset_s))} + ${f.slope.toPrecision(3)} s / batch${narrow ? "<br>" : ", "}R² ${f.r2.toFixed(3)}`.replace("+ -", "− ")),
      dots(l, xs, l.epoch_s, i, 7)];
    });
    const one = some.find((l) => l.here && l.ranks === 1);
    return { title: `${model}: epoch time against 1/batch`, wide: true, tall: true, panels: true, traces,
      caption: "One device falls as 1/batch too: the fall alone is no sign of a choke. Open markers, dotted: predicted.",
      alt: `${model}: epoch time over one over the batch with fitted lines.` + (one ? ` One device here: ${one.by_inverse_batch.slope.toPrecision(3)} s over the batch, R2 ${one.by_inverse_batch.r2.toFixed(3)}.` : ""),
      layout: panels({ title: { text: "1 / global batch (1/samples)" }, rangemode: "tozero" }, { title: { text: "time per epoch (s)" }, rangemode: "tozero", tickformat: "~g" }) };
  }

  // Means over seeds with their bands; validation solid, training dotted.
  function learning(figure) {
    const traces = [];
    figure.lines.forEach((line, i) => ["accuracy", "loss"].forEach((what, k) => [["val", "solid"], ["train", "dot"]].forEach(([which, dash]) => {
      const bands = line[`${which}_${what}`], x = bands.map((_, e) => e + 1), axes = k ? { xaxis: "x2", yaxis: "y2" } : {};
      const side = (j) => bands.map((b) => b[j]);
      if (line.runs > 1 && which === "val") traces.push({ type: "scatter", mode: "lines", ...axes, x: [...x, ...x.slice().reverse()], y: [...side(2), ...side(1).reverse()],
        fill: "toself", fillcolor: soft(i, 0.13), line: { width: 0 }, hoverinfo: "skip", showlegend: false });
      traces.push({ type: "scatter", mode: "lines", ...axes, x, y: side(0), name: `${line.name} (${line.runs} ${line.runs > 1 ? "runs" : "run"})`, legendgroup: line.name,
        showlegend: !k && which === "val", line: { color: colour(i), width: which === "val" ? 2 : 1.3, dash },
        hovertemplate: `epoch %{x}: %{y:${k ? ".3g" : ".1%"}}<extra>${line.name}, ${which === "val" ? "validation" : "training"}</extra>` });
    })));
    const end = (line) => line.val_accuracy[line.val_accuracy.length - 1][0];
    return { title: figure.title, panels: true, wide: true, traces,
      caption: "Solid: validation, with a band over the runs; dotted: training.",
      alt: `${figure.title}. Validation accuracy at the end: ${figure.lines.map((l) => `${l.name} ${isNum(end(l)) ? (100 * end(l)).toFixed(1) + " %" : "none"}`).join(", ")}.`,
      layout: panels({ title: { text: "epoch" }, tickformat: "d", nticks: 8 }, { title: { text: "accuracy (%)" }, tickformat: ".0%" },
        { type: "log", title: { text: "loss (nats)" }, tickformat: "~g", dtick: "D2" }, ["accuracy", "loss"]) };
  }

  const learnt = (doc.learning_figures || []).map(learning);
  const numbered = (doc.numbered_figures || []).map((f) => (f.global_batch ? bars(f) : lines(f)));
  const straight = ["linear", "conv1d"].flatMap((m) => [againstBytes(m), againstInverse(m)]);
  return [{ heading: "Is it the network? Epoch time as straight lines", figures: straight }, { heading: "The seed's figures by number", figures: numbered, text: [doc.figures_not_drawn,
    "The seed's epochs hold the loading of its sound files, what is predicted for its GPUs does not."].filter(Boolean).join(" ") },
  { heading: "The seed's figures by number: how it learns", figures: learnt, text: doc.learning_not_drawn || "" }];
});
