// SPDX-License-Identifier: Apache-2.0
// Figures of a validation: predicted against measured, and where the errors
// are. Colours, symbols and groups are those of figures.js, given as `kit`.
"use strict";
const ValidationFigures = (() => {
  const WIDE = 0.1;  // lines beside the diagonal

  const percent = (v) => `${(100 * v).toFixed(1)} %`;

  function diagonal(kit, low, high, factor, dash, name) {
    return { type: "scatter", mode: "lines", name, x: [low, high], y: [low * factor, high * factor], hoverinfo: "skip",
      line: { color: kit.ink, width: 1.3, dash }, showlegend: Boolean(name) };
  }
  const diagonals = (kit, low, high) => [diagonal(kit, low, high, 1, "solid", "predicted = measured"),
    diagonal(kit, low, high, 1 + WIDE, "dot", "10 % off"), diagonal(kit, low, high, 1 - WIDE, "dot", "")];

  function efficiencies(doc, kit) {
    const links = kit.uniq(doc.rows.map((r) => r.ic_class)).sort(), most = Math.max(...doc.rows.flatMap((r) => [r.measured_efficiency, r.predicted])) * 1.03;
    const inside = doc.rows.filter((r) => r.inside).length;
    return {
      title: "Predicted against measured efficiency", tall: true,
      caption: `A mark for each of ${doc.rows.length} published results, its whole source held back. On the line the prediction is right.`,
      alt: `Scatter of predicted over measured efficiency of ${doc.rows.length} results around the diagonal; ${percent(inside / doc.rows.length)} lie inside their 90 % interval.`,
      traces: [...links.map((link, i) => {
        const rows = doc.rows.filter((r) => r.ic_class === link);
        return { type: "scatter", mode: "markers", name: link, x: rows.map((r) => r.measured_efficiency), y: rows.map((r) => r.predicted),
          marker: { symbol: kit.SYMBOLS[i % kit.SYMBOLS.length], size: 6, color: kit.soft(i, 0.55), line: { width: 0.6, color: kit.colour(i) } },
          text: rows.map((r) => `${r.model}, ${r.gpus} x ${r.gpu}: predicted ${r.predicted} (${r.lo90} to ${r.hi90}), measured ${r.measured_efficiency}`),
          hovertemplate: "%{text}<extra>" + link + "</extra>" };
      }), ...diagonals(kit, 0, most)],
      layout: { xaxis: { title: { text: "measured efficiency" }, range: [0, most], tickformat: ".0%" },
        yaxis: { title: { text: "predicted efficiency" }, range: [0, most], tickformat: ".0%" } } };
  }

  // Mean and p95 side by side, rows held back by source.
  function errors(doc, kit, key, field, title, unit) {
    const rows = doc[key].filter((r) => r.held_back_by === "source");
    const x = rows.map((r) => String(r[field])), worst = rows.reduce((a, b) => (a.mean_error >= b.mean_error ? a : b));
    const bars = (name, value, i, shape) => ({ type: "bar", name, x, y: rows.map((r) => r[value]),
      marker: { color: kit.colour(i), pattern: { shape, fillmode: "overlay", fgcolor: kit.ground, size: 7, solidity: 0.25 } },
      text: rows.map((r) => `${r.rows} rows`), textposition: "none", hovertemplate: "%{x}: %{y:.1%}, %{text}<extra>" + name + "</extra>" });
    return {
      title, caption: "Mean error, and what 95 of 100 rows stay below; sources held back.",
      alt: `Bars of mean error and p95 ${title.toLowerCase()}. The largest mean is ${percent(worst.mean_error)}: ${worst[field]}, ${worst.rows} rows.`,
      traces: [bars("mean", "mean_error", 0, ""), bars("p95", "p95_error", 1, "/")],
      layout: { barmode: "group", xaxis: { type: "category", title: { text: unit } }, yaxis: { title: { text: "error of the predicted value" }, tickformat: ".0%" } } };
  }

  // What share of the intervals hold the measured value; 90 % should.
  function coverage(doc, kit) {
    const rows = [...doc.by_link.map((r) => ({ ...r, name: r.link })), ...doc.by_gpus.map((r) => ({ ...r, name: `${r.gpus} GPUs` }))];
    const ways = kit.uniq(rows.map((r) => r.held_back_by)), x = kit.uniq(rows.map((r) => r.name));
    const all = doc.scores.filter((s) => typeof s.coverage === "number");
    return {
      title: "How often the 90 % interval holds", wide: true,
      caption: `Share of measured values inside; dotted: 90 %. Of all rows: ${all.map((s) => `${percent(s.coverage)} (${s.held_back_by})`).join(", ")}. Classes of few rows jump.`,
      alt: `Coverage of the 90 % intervals by link and number of GPUs; of all rows ${all.map((s) => `${percent(s.coverage)} held back by ${s.held_back_by}`).join(", ")}.`,
      traces: ways.map((way, i) => {
        const some = rows.filter((r) => r.held_back_by === way);
        return { type: "scatter", mode: "markers", name: `held back by ${way}`, x: some.map((r) => r.name), y: some.map((r) => r.coverage),
          marker: { symbol: kit.SYMBOLS[i], size: some.map((r) => 6 + 2 * Math.log10(r.rows)), color: kit.colour(i) },
          text: some.map((r) => `${r.rows} rows`), hovertemplate: "%{x}: %{y:.1%} of %{text}<extra>" + way + "</extra>" };
      }),
      layout: { xaxis: { type: "category", categoryorder: "array", categoryarray: x, tickangle: -45 },
        yaxis: { title: { text: "inside the interval" }, tickformat: ".0%", range: [Math.min(0.8, ...rows.map((r) => r.coverage)) - 0.03, 1.03] },
        shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: 0.9, y1: 0.9, line: { width: 1.2, dash: "dot", color: kit.ink } }] } };
  }

  function epochs(doc, kit) {
    const rows = doc.epochs.filter((r) => r.measured_s > 0);
    if (!rows.length) return null;
    const values = rows.flatMap((r) => [r.measured_s, r.predicted_s]), ends = [Math.min(...values) / 1.2, Math.max(...values) * 1.2];
    const worst = rows.reduce((a, b) => (Math.abs(a.error) >= Math.abs(b.error) ? a : b));
    return {
      title: "Epochs of calibrated systems", tall: true,
      caption: "Seconds an epoch, logarithmic; bars are 90 % intervals. The model on that number of GPUs was held back.",
      alt: `Predicted over measured seconds of ${rows.length} epochs; furthest off: ${worst.model} on ${worst.gpus} GPUs at batch ${worst.batch}, ${percent(worst.error)}.`,
      traces: [...[...kit.groups(rows, (r) => `${r.model}, ${r.gpus} GPUs`)].map(([name, some], i) => ({ type: "scatter", mode: "markers", name,
        x: some.map((r) => r.measured_s), y: some.map((r) => r.predicted_s), marker: { symbol: kit.SYMBOLS[i % kit.SYMBOLS.length], size: 8, color: kit.colour(i) },
        error_y: { type: "data", symmetric: false, thickness: 1.2, width: 3, color: kit.colour(i),
          array: some.map((r) => r.hi90 - r.predicted_s), arrayminus: some.map((r) => r.predicted_s - r.lo90) },
        text: some.map((r) => `batch ${r.batch}, ${percent(r.error)} off`), hovertemplate: "%{text}<br>measured %{x:.3g} s, predicted %{y:.3g} s<extra>" + name + "</extra>" })),
        diagonal(kit, ...ends, 1, "solid", "predicted = measured")],
      layout: { xaxis: { type: "log", title: { text: "measured (s)" }, tickformat: "~g", dtick: "D2" }, yaxis: { type: "log", title: { text: "predicted (s)" }, tickformat: "~g", dtick: "D2" } } };
  }

  function all(doc, kit) {
    return [{ heading: "Predicted against measured", figures: [efficiencies(doc, kit), epochs(doc, kit), errors(doc, kit, "by_link", "link", "Error by class of link", "class of link"),
      errors(doc, kit, "by_gpus", "gpus", "Error by number of GPUs", "GPUs"), coverage(doc, kit)].filter(Boolean) }];
  }
  return { all };
})();
