// SPDX-License-Identifier: Apache-2.0
// Figures from the report's document: each function takes data and gives back
// {title, caption, alt, traces, layout}, or null when there is nothing to draw.
// Colour never speaks alone: markers, dashes and patterns say the same.
"use strict";
const Figures = (() => {
  // Okabe and Ito's palette, lighter where the ground is dark.
  const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#B3588F", "#B07D00", "#2F93C9", "#444444", "#7A6FB0"];
  const DARK = ["#5DB7F0", "#FF8A4C", "#2FD0A3", "#E79AC6", "#F2B93B", "#9AD8FF", "#C9CED4", "#B7AEF0"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down", "cross"];
  const PIECES = [
    ["data_s", "waiting for data", 4, "."], ["copy_s", "copy to device", 6, "-"], ["forward_s", "forward", 5, ""],
    ["backward_s", "backward", 0, ""], ["exposed_comm_s", "exposed communication", 1, "/"],
    ["optim_s", "update", 2, ""], ["wait_s", "waiting for others", 3, "x"]];

  let dark = false, narrow = false;
  const more = [];  // makers of further sections, of other files
  const colour = (i) => (dark ? DARK : LIGHT)[i % LIGHT.length];
  const soft = (i, a) => colour(i) + Math.round(255 * a).toString(16).padStart(2, "0");
  const uniq = (list) => [...new Set(list)];
  const rising = (list) => uniq(list).sort((a, b) => a - b);
  const devices = (n) => (n === 1 ? "1 device" : `${n} devices`);
  const isNum = (v) => typeof v === "number" && isFinite(v);

  function seconds(s) {
    if (!isNum(s)) return "unknown";
    for (const [f, u] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]])
      if (s >= f) return `${(s / f).toPrecision(3)} ${u}`;
    return `${s.toPrecision(3)} s`;
  }
  const bytes = (b) => (b >= 1e9 ? `${(b / 1e9).toPrecision(3)} GB` : b >= 1e6 ? `${(b / 1e6).toPrecision(3)} MB`
    : b >= 1e3 ? `${(b / 1e3).toPrecision(3)} kB` : `${Math.round(b)} B`);

  const nameOf = (p) => [p.strategy === "single" ? "" : p.strategy, p.arm].filter(Boolean).join(", ");
  function lineName(p) {
    const more = [nameOf(p), p.origin === "measured" ? "" : p.origin].filter(Boolean).join(", ");
    return devices(p.ranks) + (more ? ` (${more})` : "");
  }
  function groups(list, key) {
    const out = new Map();
    for (const item of list) {
      const k = key(item);
      if (!out.has(k)) out.set(k, []);
      out.get(k).push(item);
    }
    return out;
  }
  const drawn = (p) => isNum(p.epoch_s) && p.epoch_s > 0 && p.origin !== "correctness" && p.origin !== "failed" && !p.batch_changes;
  // No more ticks than there is room for.
  function ticks(values, most) {
    const all = rising(values), step = Math.ceil(all.length / most);
    return all.filter((_, i) => i % step === 0 || i === all.length - 1);
  }

  // Positions 0, 1, 2 … named by values: cells of equal width.
  function labelled(values, most) {
    const some = ticks(values, most);
    return { tickmode: "array", tickvals: some.map((v) => values.indexOf(v)), ticktext: some.map(String) };
  }

  function epochTime(doc, model) {
    const points = doc.points.filter((p) => p.model === model && drawn(p));
    if (points.length < 2) return null;
    const ranks = rising(points.map((p) => p.ranks)), names = uniq(points.map(nameOf));
    const xs = [];
    const order = points.slice().sort((a, b) => a.ranks - b.ranks);
    const traces = [...groups(order, lineName)].map(([name, line]) => {
      line.sort((a, b) => a.global_batch - b.global_batch);
      const i = ranks.indexOf(line[0].ranks), guess = line[0].origin !== "measured";
      const shape = SYMBOLS[(i + 3 * names.indexOf(nameOf(line[0]))) % SYMBOLS.length];
      xs.push([line.map((p) => p.global_batch), line.map((p) => p.per_rank)]);
      return {
        type: "scatter", mode: "lines+markers", name, x: line.map((p) => p.global_batch), y: line.map((p) => p.epoch_s),
        line: { color: colour(i), dash: guess ? "dot" : "solid", width: 2 },
        marker: { symbol: guess ? shape + "-open" : shape, size: 9, color: colour(i) },
        error_y: { type: "data", symmetric: false, thickness: 1.2, width: 3,
          array: line.map((p) => Math.max(0, (p.epoch_hi_s ?? p.epoch_s) - p.epoch_s)),
          arrayminus: line.map((p) => Math.max(0, p.epoch_s - (p.epoch_lo_s ?? p.epoch_s))) },
        hovertemplate: "batch %{x}: %{y:.4g} s an epoch<extra>" + name + "</extra>" };
    });
    const best = points.reduce((a, b) => (a.epoch_s <= b.epoch_s ? a : b));
    const values = points.flatMap((p) => [p.global_batch, p.per_rank]);
    // Within a factor of three a logarithmic axis would show one tick or none.
    const times = points.map((p) => p.epoch_s), near = Math.max(...times) < 3 * Math.min(...times);
    const button = (label, k, title) => ({ label, method: "update",
      args: [{ x: xs.map((pair) => pair[k]) }, { "xaxis.title.text": title }] });
    return {
      title: "Time per epoch over batch size",
      caption: "One line for each number of devices" + (near ? "" : ", logarithmic axes") + ". Bars are 95 % intervals (90 % where predicted).",
      alt: `Epoch time over global batch for ${ranks.map(devices).join(", ")}. The shortest is ${seconds(best.epoch_s)} ` +
        `at batch ${best.global_batch} on ${devices(best.ranks)}.`,
      wide: true, traces,
      layout: {
        xaxis: { type: "log", title: { text: "global batch (samples)" }, tickmode: "array", tickvals: ticks(values, 12),
          ticktext: ticks(values, 12).map(String) },
        yaxis: near ? { title: { text: "time per epoch (s)" } }
          : { type: "log", title: { text: "time per epoch (s)" }, tickformat: "~g", dtick: "D2" },
        updatemenus: [{ type: "buttons", direction: "right", x: 0, y: 1.16, xanchor: "left", pad: { r: 4 }, showactive: true,
          buttons: [button("batch in all", 0, "global batch (samples)"),
            button("batch a device", 1, "batch a device (samples)")] }] } };
  }

  function heat(doc, model) {
    const points = doc.points.filter((p) => p.model === model && drawn(p));
    const ranks = rising(points.map((p) => p.ranks)), batches = rising(points.map((p) => p.global_batch));
    if (ranks.length * batches.length < 3) return null;
    const cell = (r, b) => points.filter((p) => p.ranks === r && p.global_batch === b)
      .reduce((a, p) => (!a || p.epoch_s < a.epoch_s ? p : a), null);
    const grid = ranks.map((r) => batches.map((b) => cell(r, b)));
    const all = grid.flat().filter(Boolean);
    const best = all.reduce((a, b) => (a.epoch_s <= b.epoch_s ? a : b));
    const answer = doc.answers.find((a) => a.model === model), choice = answer && doc.points[answer.point];
    const few = batches.length <= 14;
    const mark = (p, text) => ({ x: batches.indexOf(p.global_batch), y: ranks.indexOf(p.ranks), text, showarrow: false, yshift: -16,
      font: { size: 11, color: "#000" }, bgcolor: "rgba(255,255,255,.85)", borderpad: 1 });
    const marks = [mark(best, choice === best ? "fastest, chosen" : "fastest")];
    if (choice && choice !== best) marks.push(mark(choice, "chosen"));
    return {
      title: "Best configuration", wide: batches.length > 8,
      caption: "Epoch time of the fastest strategy in each cell; brighter is faster. * is predicted.",
      alt: `Heat map of epoch time over devices and batch. Fastest: ${devices(best.ranks)} at batch ${best.global_batch}, ` +
        `${seconds(best.epoch_s)}.`,
      traces: [{ type: "heatmap", x: batches.map((_, i) => i), y: ranks.map((_, i) => i), xgap: 2, ygap: 2,
        z: grid.map((row) => row.map((p) => (p ? Math.log10(p.epoch_s) : null))), colorscale: "Cividis", reversescale: true,
        text: grid.map((row) => row.map((p) => (p ? seconds(p.epoch_s) + (p.origin === "measured" ? "" : " *") : ""))),
        texttemplate: few ? "%{text}" : "", hovertemplate: "%{customdata}: %{text}<extra></extra>", showscale: !few,
        customdata: ranks.map((r) => batches.map((b) => `${devices(r)}, batch ${b}`)),
        colorbar: { title: { text: "log10 s" }, thickness: 12 } }],
      layout: { annotations: marks, xaxis: { title: { text: "global batch (samples)" }, showgrid: false, ...labelled(batches, 14) },
        yaxis: { title: { text: "devices" }, showgrid: false, ...labelled(ranks, 14) } } };
  }

  function lawTraces(series) {
    const value = (l, n) => (l.law === "Amdahl" ? 1 / (l.serial + (1 - l.serial) / n)
      : l.law === "Gustafson" ? n - l.serial * (n - 1) : n / (1 + l.serial * (n - 1) + l.coherence * n * (n - 1)));
    return series.laws.map((law) => {
      const x = Array.from({ length: 41 }, (_, i) => 1 + (law.max_ranks - 1) * i / 40);
      return { type: "scatter", mode: "lines", name: `${law.law} (fit, batch ${series.batch})`, x, y: x.map((n) => value(law, n)),
        line: { color: dark ? "#9aa5b1" : "#77808a", width: 1.2, dash: law.law === "USL" ? "dashdot" : "dash" }, hoverinfo: "skip" };
    });
  }

  function scaling(doc, model, kind, field) {
    let all = doc.scaling.filter((s) => s.model === model && s.kind === kind);
    if (all.some((s) => s.steps[0].ranks === 1)) all = all.filter((s) => s.steps[0].ranks === 1);
    if (!all.length) return null;
    const base = all[0].steps[0].ranks, left = all.length - 6;
    all.sort((a, b) => a.batch - b.batch);
    if (left > 0) all = Array.from({ length: 6 }, (_, i) => all[Math.round(i * (all.length - 1) / 5)]);
    const traces = [], speed = field === "speedup", most = Math.max(...all.flatMap((s) => s.steps.map((t) => t.ranks)));
    const batches = rising(all.map((s) => s.batch)), names = uniq(all.map((s) => nameOf(s)));
    for (const s of all) {
      const i = batches.indexOf(s.batch), x = s.steps.map((t) => t.ranks), y = s.steps.map((t) => t[field]);
      const lo = s.steps.map((t, k) => t[field + "_lo95"] ?? y[k]), hi = s.steps.map((t, k) => t[field + "_hi95"] ?? y[k]);
      const name = `batch ${s.batch}` + (names.length > 1 ? `, ${nameOf(s)}` : "") + (s.origin === "measured" ? "" : ` (${s.origin})`);
      const shape = SYMBOLS[(i + 3 * names.indexOf(nameOf(s))) % SYMBOLS.length], guess = s.origin !== "measured";
      traces.push({ type: "scatter", mode: "lines", x: [...x, ...x.slice().reverse()], y: [...hi, ...lo.reverse()], fill: "toself",
        fillcolor: soft(i, 0.16), line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: name });
      traces.push({ type: "scatter", mode: "lines+markers", name, legendgroup: name, x, y,
        line: { color: colour(i), width: 2, dash: guess ? "dot" : "solid" },
        marker: { symbol: guess ? shape + "-open" : shape, size: 8, color: colour(i) },
        hovertemplate: `%{x} devices: %{y:.3g}<extra>${name}</extra>` });
    }
    const ideal = { type: "scatter", mode: "lines", name: "ideal", x: [base, most], y: speed ? [1, most / base] : [1, 1],
      line: { color: dark ? "#c9ced4" : "#333", width: 1.5, dash: "dash" }, hoverinfo: "skip" };
    const last = all[all.length - 1], end = last.steps[last.steps.length - 1];
    const word = kind === "weak" ? "weak scaling, the same batch on each device" : "strong scaling, the same batch in all";
    return {
      title: (speed ? "Speed-up, " : "Efficiency, ") + kind + " scaling",
      caption: `${kind === "weak" ? "The same batch on each device." : "The same batch, shared out."} Bands are 95 % intervals` +
        (left > 0 ? `; ${left} further batch sizes are in the table.` : "."),
      alt: `${speed ? "Speed-up" : "Efficiency"} over devices, ${word}. At batch ${last.batch} on ${devices(end.ranks)}: ` +
        `${end[field].toFixed(2)}.`,
      traces: [ideal, ...traces, ...(speed ? lawTraces(last) : [])],
      layout: {
        xaxis: { title: { text: "devices" }, tickmode: "array", tickvals: ticks(all.flatMap((s) => s.steps.map((t) => t.ranks)), 10) },
        yaxis: speed ? { title: { text: `speed-up (times ${devices(base)})` }, rangemode: "tozero" }
          : { title: { text: "efficiency (share of ideal)" }, tickformat: ".0%", rangemode: "tozero" },
        shapes: speed ? [] : [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: 0.8, y1: 0.8,
          line: { width: 1, dash: "dot", color: dark ? "#a3afbc" : "#55606b" } }],
        annotations: speed ? [] : [{ xref: "paper", x: 0, y: 0.8, xanchor: "left", yanchor: "top", showarrow: false,
          text: "scales from 80 % on", font: { size: 11 } }] } };
  }

  function stepBars(doc, model) {
    let points = doc.points.filter((p) => p.model === model && p.step_s > 0 && isNum(p.forward_s) && p.origin !== "correctness" && !p.batch_changes &&
      p.forward_s + p.backward_s > 0);
    if (!points.length) return null;
    const answer = doc.answers.find((a) => a.model === model), choice = answer && doc.points[answer.point];
    const total = points.length;
    if (total > 24 && choice) points = points.filter((p) => p.per_rank === choice.per_rank || p.ranks === choice.ranks);
    points = points.slice().sort((a, b) => a.ranks - b.ranks || a.per_rank - b.per_rank).slice(0, 24);
    // One label for two bars would say nothing: arms need their names.
    const shape = (p) => `${p.ranks}×${p.per_rank}`;
    const several = uniq(points.filter((p) => p.ranks > 1).map(nameOf)).length > 1 || uniq(points.map(shape)).length < points.length;
    const short = (name) => (name.length > 20 ? name.slice(0, 19) + "…" : name);
    const label = (p) => shape(p) + (several && nameOf(p) ? `<br>${short(nameOf(p))}` : "");
    const x = points.map((_, i) => i);
    const used = PIECES.filter(([f]) => points.some((p) => p[f] > 0.002 * p.step_s));
    const worst = points.reduce((a, b) => (a.exposed_comm_s / a.step_s >= b.exposed_comm_s / b.step_s ? a : b));
    return {
      title: "Where a step goes", wide: points.length > 8 || (several && points.length > 4),
      caption: "Median pieces of a step; devices × batch on each." + (total > points.length ? ` ${points.length} of ${total} points.` : ""),
      alt: `Stacked bars of step time by piece. Exposed communication is largest at ${worst.ranks} by ${worst.per_rank}: ` +
        `${(100 * worst.exposed_comm_s / worst.step_s).toFixed(1)} % of a step.`,
      traces: used.map(([field, name, i, shape]) => ({ type: "bar", name, x, y: points.map((p) => 1e3 * (p[field] || 0)),
        marker: { color: colour(i), pattern: { shape, fillmode: "overlay", fgcolor: dark ? "#12161b" : "#fff", size: 7, solidity: 0.25 } },
        customdata: points.map((p) => 100 * (p[field] || 0) / p.step_s),
        hovertemplate: "%{y:.3g} ms, %{customdata:.1f} % of the step<extra>" + name + "</extra>" })),
      layout: { barmode: "stack", xaxis: { tickmode: "array", tickvals: x, ticktext: points.map(label), title: { text: "devices × batch on each" } },
        yaxis: { title: { text: "time per step (ms)" } } } };
  }

  function waterfall(doc) {
    const w = doc.waterfall;
    if (!w || !w.messages.length) return null;
    const rows = [], colours = { data: 4, copy: 6, forward: 5, backward: 0, "exposed communication": 1, update: 2, "wait for others": 3 };
    const bar = (y, begin, end, i, shape, text, opacity) => rows.push({ type: "bar", orientation: "h", y: [y], base: [1e3 * begin],
      x: [1e3 * (end - begin)], marker: { color: colour(i), opacity, pattern: { shape, fillmode: "overlay", fgcolor: dark ? "#12161b" : "#fff", size: 7, solidity: 0.25 } },
      hovertemplate: text + "<extra></extra>", showlegend: false });
    for (const p of w.pieces)
      bar("step", p.begin_s, p.end_s, colours[p.name] ?? 6, p.name.startsWith("exposed") ? "/" : "", `${p.name}: ${seconds(p.end_s - p.begin_s)}`, 1);
    for (const m of w.messages.slice(0, 40)) {
      const y = `bucket ${m.bucket}`;
      if (m.begin_s > m.issued_s) bar(y, m.issued_s, m.begin_s, 6, ".", `${y} waits ${seconds(m.begin_s - m.issued_s)}`, 0.35);
      bar(y, m.begin_s, m.end_s, 1, "/", `${m.op} of ${m.payload}, ${bytes(m.bytes)}: ${seconds(m.end_s - m.begin_s)}`, 1);
    }
    const names = ["step", ...uniq(w.messages.slice(0, 40).map((m) => `bucket ${m.bucket}`))].reverse();
    const labels = w.pieces.filter((p) => p.end_s - p.begin_s > 0.09 * w.step_s).map((p) => ({ x: 500 * (p.begin_s + p.end_s), y: "step",
      text: p.name.replace(" communication", ""), showarrow: false, font: { size: 11, color: dark ? "#12161b" : "#fff" } }));
    return {
      title: "One step, message by message", wide: true,
      caption: `Step ${w.step} of ${w.run} on rank 0: ${w.ranks} × ${w.per_rank}, ${w.model}. What lies under forward and backward is hidden.`,
      alt: `Waterfall of one step of ${seconds(w.step_s)}: ${w.pieces.map((p) => `${p.name} ${seconds(p.end_s - p.begin_s)}`).join(", ")}; ` +
        `${w.messages.length} messages.`,
      traces: rows,
      layout: { barmode: "overlay", bargap: 0.25, annotations: labels, xaxis: { title: { text: "time since the step began (ms)" } },
        yaxis: { type: "category", categoryorder: "array", categoryarray: names, automargin: true, title: { text: "" } } } };
  }

  // Lines over epochs; several seeds become a mean with a band.
  function curves(doc, model, fields, title, unit, format) {
    const runs = doc.curves.slice().sort((a, b) => a.ranks - b.ranks || a.per_rank - b.per_rank).filter((c) => c.model === model && fields.some(([f]) => c[f].some(isNum)));
    if (!runs.length) return null;
    const lines = groups(runs, (c) => `${c.ranks}×${c.per_rank}` + (nameOf(c) ? ` ${nameOf(c)}` : ""));
    const traces = [], epochs = Math.max(...runs.map((c) => c.val_loss.length));
    [...lines].slice(0, 12).forEach(([name, some], i) => fields.forEach(([field, what, dash]) => {
      if (!some.some((c) => c[field].some(isNum))) return;
      const long = Math.max(...some.map((c) => c[field].length)), x = Array.from({ length: long }, (_, e) => e + 1);
      const at = x.map((_, e) => some.map((c) => c[field][e]).filter(isNum));
      const mean = at.map((v) => (v.length ? v.reduce((a, b) => a + b) / v.length : null));
      const label = `${name}, ${what}`;
      if (some.length > 1) traces.push({ type: "scatter", mode: "lines", x: [...x, ...x.slice().reverse()],
        y: [...at.map((v) => (v.length ? Math.max(...v) : null)), ...at.map((v) => (v.length ? Math.min(...v) : null)).reverse()], fill: "toself",
        fillcolor: soft(i, 0.13), line: { width: 0 }, hoverinfo: "skip", showlegend: false });
      traces.push({ type: "scatter", mode: long > 30 ? "lines" : "lines+markers", name, x, y: mean, legendgroup: name,
        showlegend: !traces.some((t) => t.name === name),
        line: { color: colour(i), width: 2, dash }, marker: { symbol: SYMBOLS[i % SYMBOLS.length], size: 6 },
        hovertemplate: `epoch %{x}: %{y:${format}}<extra>${label}</extra>` });
    }));
    // One value that jumped would press all others flat.
    const heights = traces.flatMap((t) => t.y).filter((v) => isNum(v) && v > 0).sort((a, b) => a - b);
    const jumps = heights.length && heights[heights.length - 1] > 100 * heights[heights.length >> 1];
    const left = lines.size - 12 > 0 ? ` ${lines.size - 12} further configurations are in the table.` : "";
    return { title, traces,
      caption: `Solid: validation, dotted: training${runs.length > lines.size ? "; bands span the seeds" : ""}.${left}` +
        (doc.curves_left_out ? ` ${doc.curves_left_out} runs are not drawn.` : ""),
      alt: `${title} over epochs for ${Math.min(lines.size, 12)} configurations.`,
      layout: { xaxis: { title: { text: "epoch" }, tickformat: "d", dtick: Math.max(1, Math.ceil(epochs / 10)) },
        yaxis: { title: { text: unit }, tickformat: format, ...(jumps ? { type: "log" } : {}) } } };
  }

  function predicted(doc) {
    const key = (p) => [p.model, p.strategy, p.arm, p.ranks, p.per_rank, p.global_batch].join("|");
    const measured = new Map(doc.points.filter((p) => p.origin === "measured" && p.epoch_s > 0).map((p) => [key(p), p]));
    const pairs = doc.points.filter((p) => p.origin === "predicted" && p.epoch_s > 0 && measured.has(key(p)));
    if (!pairs.length) return null;
    const models = uniq(pairs.map((p) => p.model)), all = pairs.flatMap((p) => [p.epoch_s, measured.get(key(p)).epoch_s]);
    const ends = [Math.min(...all) * 0.8, Math.max(...all) * 1.25];
    const miss = pairs.map((p) => Math.abs(Math.log(p.epoch_s / measured.get(key(p)).epoch_s))).sort((a, b) => a - b);
    const middle = 100 * (Math.exp(miss[miss.length >> 1]) - 1);
    return {
      title: "Predicted against measured", caption: `On the line, prediction and measurement agree. Half of the points are within ${middle.toFixed(0)} %.`,
      alt: `Predicted over measured epoch time of ${pairs.length} points; the median error is ${middle.toFixed(1)} %.`,
      traces: [{ type: "scatter", mode: "lines", name: "equal", x: ends, y: ends, line: { dash: "dash", color: dark ? "#c9ced4" : "#333", width: 1.5 }, hoverinfo: "skip" },
        ...models.map((model, i) => {
          const some = pairs.filter((p) => p.model === model);
          return { type: "scatter", mode: "markers", name: model, x: some.map((p) => measured.get(key(p)).epoch_s), y: some.map((p) => p.epoch_s),
            marker: { symbol: SYMBOLS[i % SYMBOLS.length] + "-open", size: 10, color: colour(i), line: { width: 2 } }, text: some.map((p) => `${p.ranks}×${p.per_rank}`),
            error_y: { type: "data", symmetric: false, thickness: 1, array: some.map((p) => Math.max(0, (p.epoch_hi_s ?? p.epoch_s) - p.epoch_s)),
              arrayminus: some.map((p) => Math.max(0, p.epoch_s - (p.epoch_lo_s ?? p.epoch_s))) },
            hovertemplate: "%{text}: measured %{x:.4g} s, predicted %{y:.4g} s<extra>" + model + "</extra>" };
        })],
      layout: { xaxis: { type: "log", title: { text: "measured time per epoch (s)" } }, yaxis: { type: "log", title: { text: "predicted time per epoch (s)" } } } };
  }

  // Ticks of a logarithmic axis: 1, 2, 5 where it is short.
  const decades = (values) => ({ tickformat: "~g", dtick: Math.max(...values) < 100 * Math.min(...values) ? "D2" : 1 });

  // Layers that multiply, under what the device allows at their FLOPs a byte.
  function roofline(doc) {
    const peak = doc.peak_flops, rate = doc.memory_bytes_per_s, ridge = peak / rate;
    const layers = doc.rows.filter((r) => r.flops > 0 && r.step_s > 0 && r.layer !== "step");
    if (!layers.length) return null;
    const x = layers.map((r) => r.flops / r.bytes), types = uniq(layers.map((r) => r.type));
    const ends = [Math.min(...x, ridge) / 2, Math.max(...x, ridge) * 2], grey = dark ? "#c9ced4" : "#333";
    const ceiling = (name, from, to, dash) => ({ type: "scatter", mode: "lines", name, x: [from, to], y: [from, to].map((i) => Math.min(peak, i * rate) / 1e12),
      line: { color: grey, width: 2, dash }, hoverinfo: "skip" });
    const most = Math.max(...layers.map((r) => r.step_s)), near = layers.reduce((a, b) => (a.share >= b.share ? a : b));
    return {
      title: "Roofline", wide: true,
      caption: `A dot a layer, larger the longer it takes in a step. What multiplies nothing is in the bars below only.`,
      alt: `Achieved FLOP/s over FLOPs a byte of ${layers.length} layers under the ceilings of ${doc.device}. Nearest to its floor: ${near.layer}, ` +
        `${(100 * near.share).toFixed(0)} %.`,
      traces: [ceiling(`memory, ${(rate / 1e12).toPrecision(3)} TB/s`, ends[0], ridge, "dash"), ceiling(`${doc.precision}, ${(peak / 1e12).toPrecision(3)} TFLOP/s`, ridge, ends[1], "solid"),
        ...types.map((type, i) => {
          const some = layers.filter((r) => r.type === type);
          return { type: "scatter", mode: "markers", name: type, x: some.map((r) => r.flops / r.bytes), y: some.map((r) => r.flops_per_s / 1e12),
            marker: { symbol: SYMBOLS[i % SYMBOLS.length], color: soft(i, 0.7), line: { color: colour(i), width: 1 }, size: some.map((r) => 7 + 15 * Math.sqrt(r.step_s / most)) },
            text: some.map((r) => `${r.layer}: ${seconds(r.step_s)}, floor ${seconds(r.floor_s)}, bound by ${r.bound}`),
            hovertemplate: "%{text}<br>%{x:.3g} FLOP a byte, %{y:.3g} TFLOP/s<extra></extra>" };
        })],
      layout: { xaxis: { type: "log", title: { text: "arithmetic intensity (FLOP a byte)" }, ...decades(ends) },
        yaxis: { type: "log", title: { text: "achieved (TFLOP/s)" }, ...decades(layers.map((r) => r.flops_per_s).concat(peak)) } } };
  }

  function floorBars(doc) {
    const rows = doc.rows.filter((r) => r.layer !== "step"), x = rows.map((r) => r.layer), far = rows.reduce((a, b) => (a.step_s - a.floor_s >= b.step_s - b.floor_s ? a : b));
    const bars = (name, y, i, shape) => ({ type: "bar", name, x, y: y.map((s) => 1e3 * s), marker: { color: colour(i),
      pattern: { shape, fillmode: "overlay", fgcolor: dark ? "#12161b" : "#fff", size: 7, solidity: 0.25 } },
      text: rows.map((r) => `${seconds(r.step_s)}, floor ${seconds(r.floor_s)}` + (r.bound ? `, bound by ${r.bound}` : "")), textposition: "none",
      hovertemplate: "%{x}: %{text}<extra></extra>" });
    const by = (bound) => rows.map((r) => (r.bound === bound ? r.floor_s : 0));
    return {
      title: "Time in a step and its floor, layer by layer", wide: true, tall: true,
      caption: "Forward and backward. A bar reaches the time in a step; its filled foot is the floor, by what bounds it.",
      alt: `Bars of time in a step and floor of ${rows.length} rows. Most time above its floor: ${far.layer}, ${seconds(far.step_s - far.floor_s)}.`,
      traces: [bars("floor: compute", by("compute"), 0, ""), bars("floor: memory", by("memory"), 2, "."),
        bars("above the floor", rows.map((r) => Math.max(0, r.step_s - (r.floor_s || 0))), 1, "/")],
      layout: { barmode: "stack", xaxis: { type: "category", tickangle: -60, tickfont: { size: 10 }, dtick: Math.ceil(rows.length / 45) }, yaxis: { title: { text: "time per step (ms)" } } } };
  }

  // B*(K): the batch of highest goodput, and what it gains, over devices.
  function bestBatch(doc, field, title, unit, caption) {
    const rows = (doc.batch && doc.batch.devices) || [];
    if (rows.length < 2) return null;
    const x = rising(rows.map((r) => r.ranks)), last = rows[rows.length - 1], doublings = Array.from({ length: 24 }, (_, i) => 2 ** i);
    const traces = [...groups(rows, (r) => r.arm || "predicted")].flatMap(([name, line], i) => {
      const at = line.map((r) => r.ranks);
      const band = field === "global_batch" ? [{ type: "scatter", mode: "lines", x: at.concat(at.slice().reverse()), fill: "toself", fillcolor: soft(i, 0.15), line: { width: 0 },
        y: line.map((r) => r.batch_high).concat(line.map((r) => r.batch_low).reverse()), hoverinfo: "skip", showlegend: false }] : [];
      return [...band, { type: "scatter", mode: "lines+markers", name, x: at, y: line.map((r) => r[field]), line: { color: colour(i), dash: "dash" }, marker: { symbol: SYMBOLS[i], size: 9 },
        text: line.map((r) => `${devices(r.ranks)}: batch ${r.global_batch} (${r.per_rank} on each), ${seconds(r.step_s)} a step, ${r.origin}`), hovertemplate: "%{text}<br>%{y:.3g}<extra></extra>" }];
    });
    if (field === "speedup") traces.push({ type: "scatter", mode: "lines", name: "ideal", x, y: x, line: { color: colour(6), width: 1, dash: "dot" }, hoverinfo: "skip" });
    return { title, caption, alt: `${title} for ${x[0]} to ${devices(x[x.length - 1])}, predicted. On ${devices(last.ranks)}: batch ${last.global_batch}, ${last.speedup.toFixed(1)} times the goodput of one.`,
      traces, layout: { xaxis: { type: "log", title: { text: "devices" }, tickmode: "array", tickvals: x, ticktext: x.map(String) }, yaxis: { type: "log", title: { text: unit }, tickmode: "array", tickvals: doublings, ticktext: doublings.map(String) } } };
  }

  // Parameter bytes against FLOPs: how much faster than one device each size is, with its word.
  function sizeMaps(doc) {
    const key = (r) => [r.hardware, r.strategy, r.arm, r.ranks, r.global_batch].join("|");
    const work = (f) => (f >= 1e9 ? `${+(f / 1e9).toPrecision(3)} GFLOP` : `${+(f / 1e6).toPrecision(3)} MFLOP`);
    const rows = doc.sizes || [], widths = rising(rows.map((r) => r.parameter_bytes)), heights = rising(rows.map((r) => r.flops_a_sample));
    return [...groups(rows, key)].map(([name, cells]) => {
      const grid = heights.map((f) => widths.map((b) => cells.find((r) => r.flops_a_sample === f && r.parameter_bytes === b) || null));
      const ranks = cells[0].ranks, mark = (r) => (r.origin === "measured" ? "" : " *");
      const axis = (values, text) => ({ tickmode: "array", tickvals: values.map((_, i) => i), ticktext: values.map(text), showgrid: false, zeroline: false });
      return {
        title: `${devices(ranks)} against one, batch ${cells[0].global_batch}` + (nameOf(cells[0]) ? `, ${nameOf(cells[0])}` : ""), wide: widths.length > 4,
        caption: "Speed-up over one device, from orange (none) to blue (ideal). Scales: 80 % of ideal or more. Fades: faster than 1.05 times. Chokes: not that. * is predicted.",
        alt: `Map of sizes: ${doc.boundaries.find((b) => key(b) === name).sentence}`,
        traces: [{ type: "heatmap", x: widths.map((_, i) => i), y: heights.map((_, i) => i), xgap: 2, ygap: 2, zmin: 0, zmax: ranks,
          colorscale: [[0, "#E8A06A"], [0.5, "#F5EFDC"], [1, "#86C5EE"]], textfont: { size: 13, color: "#111" },
          z: grid.map((row) => row.map((r) => (r ? r.speedup : null))), hoverongaps: false, showscale: false,
          text: grid.map((row) => row.map((r) => (r ? `${r.speedup.toFixed(2)} ×${mark(r)}<br>${r.verdict}` : ""))), texttemplate: "%{text}",
          customdata: grid.map((row) => row.map((r) => (r ? `${bytes(r.parameter_bytes)} of parameters, ${work(r.flops_a_sample)} a sample (${r.bytes_per_flop.toPrecision(2)} bytes a FLOP), ${r.origin}` : ""))),
          hovertemplate: "%{customdata}<br>%{text}<extra></extra>" }],
        layout: { xaxis: { title: { text: "parameters (bytes)" }, ...axis(widths, bytes) },
          yaxis: { title: { text: "forward pass of a sample (FLOP)" }, ...axis(heights, work) } } };
    });
  }

  // What a sample costs in the layers that cost most, over the batch.
  function layerTimes(doc, model) {
    const found = (doc.layer_times || []).find((t) => t.model === model);
    if (!found) return null;
    const most = (l) => Math.max(...l.sample_s), order = found.layers.slice().sort((a, b) => most(b) - most(a));
    const shown = order.slice(0, 7).filter((l) => most(l) > 0.01 * most(order[0])), rest = order.slice(shown.length);
    if (rest.some((l) => most(l) > 0)) shown.push({ layer: `${rest.length} further`, sample_s: found.batches.map((_, i) => rest.reduce((sum, l) => sum + l.sample_s[i], 0)) });
    const said = (doc.layer_sentences || []).filter((t) => t.startsWith(`${model} `));
    return { title: "Time of a sample by layer", wide: true,
      caption: `Profiled on one device, forward and backward${found.bend_batch ? "; dashed: where epoch time stops falling" : ""}. ${said.join(" ")}`,
      alt: `What a sample costs in ${found.layers.length} layers over the batch. ${said[0] || ""}`,
      traces: shown.map((l, i) => ({ type: "scatter", mode: "lines+markers", name: l.layer, x: found.batches, y: l.sample_s.map((v) => (v > 0 ? 1e6 * v : null)),
        line: { color: colour(i), width: 2 }, marker: { symbol: SYMBOLS[i], size: 7 }, hovertemplate: `batch %{x}: %{y:.3g} µs<extra>${l.layer}</extra>` })),
      layout: { xaxis: { type: "log", title: { text: "batch (samples)" }, tickmode: "array", tickvals: ticks(found.batches, 10), ticktext: ticks(found.batches, 10).map(String) },
        yaxis: { type: "log", title: { text: "time of a sample (µs)" }, ...decades(shown.flatMap((l) => l.sample_s).filter((v) => v > 0)) },
        shapes: found.bend_batch ? [{ type: "line", yref: "paper", y0: 0, y1: 1, x0: found.bend_batch, x1: found.bend_batch, line: { width: 1, dash: "dash", color: dark ? "#a3afbc" : "#55606b" } }] : [] } };
  }

  // Everything, by section.
  function all(doc, isDark, isNarrow) {
    dark = isDark, narrow = isNarrow;
    if (doc.verb === "validation") return ValidationFigures.all(doc, { colour, soft, groups, uniq, rising, SYMBOLS, ink: dark ? "#c9ced4" : "#333", ground: dark ? "#12161b" : "#fff" });
    if (doc.verb === "floor") return [{ heading: "Measured against the floor", figures: [roofline(doc), floorBars(doc)].filter(Boolean) }];
    // Sizes of one model stand in their map, not each in a section.
    const mapped = (doc.sizes || []).length > 0;
    const models = uniq(doc.points.map((p) => p.model)).filter((m) => !mapped || !m.startsWith("variable ")).sort();
    const sections = models.map((model) => ({ heading: models.length > 1 ? model : doc.points.every((p) => p.origin === "predicted") ? "What is predicted" : "What was measured", figures: [
      epochTime(doc, model), heat(doc, model), stepBars(doc, model), layerTimes(doc, model), scaling(doc, model, "weak", "speedup"), scaling(doc, model, "weak", "efficiency"),
      scaling(doc, model, "strong", "speedup"), scaling(doc, model, "strong", "efficiency"),
      curves(doc, model, [["val_accuracy", "validation", "solid"], ["train_accuracy", "training", "dot"]], "Accuracy", "accuracy (%)", ".0%"),
      curves(doc, model, [["val_loss", "validation", "solid"], ["train_loss", "training", "dot"]], "Loss", "loss (nats)", ".3g")] }));
    sections.push({ heading: "Inside a step, and against the prediction", figures: [waterfall(doc), predicted(doc)] });
    sections.push({ heading: "The best batch on more devices, predicted", figures: [
      bestBatch(doc, "global_batch", "Best batch over devices", "global batch (samples)", "Highest goodput; steps of one device measured, of more predicted. The band is the noise scale's interval."),
      bestBatch(doc, "speedup", "Goodput over one device", "speed-up of goodput", "Useful examples a second at the best batch of each number of devices, over one device at its own best; predicted.")] });
    sections.unshift({ heading: "Which sizes scale", figures: sizeMaps(doc) });
    const tools = { colour, devices, groups, isNum, narrow, nameOf, paper: () => (dark ? "#12161b" : "#fff"), rising, seconds, soft, SYMBOLS, ticks, uniq };
    for (const make of more) sections.push(...make(doc, tools));
    for (const s of sections) s.figures = s.figures.filter(Boolean);
    return sections.filter((s) => s.figures.length);
  }
  return { all, bytes, seconds, add: (make) => more.push(make) };
})();
