// SPDX-License-Identifier: Apache-2.0
// Puts the document on the page: words first, then figures, tables, machine
// and commands. Draws again when the theme, the paper or (served live) the data
// changes.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const PAGE_ROWS = 100;
  let doc = null, limit = PAGE_ROWS, order = null;

  const unpack = (table) => (Array.isArray(table) ? table
    : table.rows.map((row) => Object.fromEntries(table.columns.map((name, i) => [name, row[i]]))));
  function read(text) {
    const raw = JSON.parse(text);
    return { ...raw, rows: unpack(raw.rows), points: unpack(raw.points) };
  }
  function make(tag, props, ...children) {
    const node = Object.assign(document.createElement(tag), props || {});
    node.append(...children);
    return node;
  }

  function words() {
    $("title").textContent = doc.title;
    document.title = `${doc.title} · Lockstep`;
    const answers = (doc.answers.length ? doc.answers : [null]).map((a) => make("article", { className: "answer" },
      make("p", { className: "say" }, a ? a.sentence : doc.untimed_answer),
      ...(a ? [make("dl", {}, ...[["How sure", a.how_sure], ["Why", a.why], ["What would change it", a.what_would_change]]
        .flatMap(([t, d]) => [make("dt", {}, t), make("dd", {}, d)]))] : [])));
    // Of many sizes the map is the answer; what each would do stands behind it.
    const sizes = (doc.boundaries || []).map((b) => make("p", { className: "say" }, b.sentence));
    $("answers").replaceChildren(...(sizes.length ? [make("article", { className: "answer" }, ...sizes),
      make("details", {}, make("summary", {}, "Each size by itself"), ...answers)] : answers));
    const list = (id, items) => $(id).querySelector("ul").replaceChildren(...items.map((t) => make("li", {}, t)));
    $("notes").hidden = !doc.notes.length;
    list("notes", doc.notes.slice(0, 20).concat(doc.notes.length > 20 ? [`and ${doc.notes.length - 20} more notes`] : []));
    // A profile's "batch" is a number.
    $("batch").hidden = !doc.batch?.answer;
    if (doc.batch?.answer) list("batch", [...doc.batch.answer, doc.batch.pointer]);
    list("machine", doc.machines.length ? doc.machines : ["not recorded"]);
    $("reproduce").querySelector("pre").textContent = doc.commands.join("\n") || "The runs do not say how they were started.";
    $("made").textContent = `Made ${doc.made_utc} by lockstep ${doc.version} from ${doc.rows.length} ${doc.rows_title ? "rows" : "runs"}.`;
    if (doc.rows_title) $("everything").querySelector("h2").textContent = doc.rows_title;
  }

  function baseLayout(dark, narrow) {
    const ink = dark ? "#e8ecf1" : "#16191d", line = dark ? "#343d47" : "#d5dae0";
    const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true };
    return { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: narrow ? 11 : 13, family: "inherit" },
      margin: { l: narrow ? 48 : 64, r: 12, t: 36, b: 48 }, xaxis: axis, yaxis: axis, hoverlabel: { namelength: -1 },
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0, font: { size: narrow ? 10 : 12 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink, activecolor: ink } };
  }
  function merged(base, more) {
    const out = { ...base, ...more };
    for (const key of ["xaxis", "yaxis", ...Object.keys(more).filter((k) => /^[xy]axis\d/.test(k))])
      out[key] = { ...base[key.slice(0, 5)], ...more[key] };
    if (out.updatemenus) out.updatemenus = out.updatemenus.map((m) => ({ ...m, bgcolor: "#d5dae0", font: { size: 11, color: "#16191d" } }));
    return out;
  }

  function figures(paper) {
    const dark = !paper && matchMedia("(prefers-color-scheme: dark)").matches, narrow = innerWidth < 640;
    const sections = Figures.all(doc, dark, narrow), old = $("figures").querySelectorAll(".plot");
    const count = sections.reduce((n, s) => n + s.figures.length, 0);
    const plots = [];
    if (old.length !== count) {
      old.forEach((plot) => Plotly.purge(plot));
      $("figures").replaceChildren(...sections.map((s) => make("section", {}, make("h2", {}, s.heading),
        ...(s.text ? [make("p", {}, s.text)] : []), make("div", { className: "grid" }, ...s.figures.map((f) => make("figure", { className: f.wide ? "wide" : "" },
          make("h3", {}, f.title), make("figcaption", {}, f.caption), make("div", { className: "plot" + (f.tall ? " tall" : "") + (f.panels ? " panels" : "") })))))));
    }
    const places = $("figures").querySelectorAll(".plot");
    sections.flatMap((s) => s.figures).forEach((f, i) => {
      places[i].setAttribute("role", "img");
      places[i].setAttribute("aria-label", f.alt);
      places[i].parentElement.querySelector("figcaption").textContent = f.caption;
      plots.push(Plotly.react(places[i], f.traces, merged(baseLayout(dark, narrow), f.layout),
        { responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover", modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] }));
    });
    return Promise.all(plots);
  }

  const shown = (v) => (v === null || v === undefined ? "" : typeof v === "number" && !Number.isInteger(v) ? Number(v.toPrecision(5)).toString() : String(v));
  // A field's name says its unit; people read the one that fits.
  function told(name, v) {
    if (typeof v !== "number") return shown(v);
    if (/bytes/.test(name) && !/_per_/.test(name)) return Figures.bytes(v);
    if (v === 0 || (Number.isInteger(v) && Math.abs(v) < 1e5)) return shown(v);
    if (/flops_per_s$/.test(name)) return `${(v / 1e12).toPrecision(3)} TFLOP/s`;
    if (/bytes_per_s$/.test(name)) return `${(v / 1e9).toPrecision(3)} GB/s`;
    return /(^seconds|_s$)/.test(name) && !/_per_s$/.test(name) && v > 0 ? Figures.seconds(v) : shown(v);
  }
  function table(rows, caption) {
    const names = Object.keys(rows[0]).filter((n) => rows.some((r) => r[n] !== null && r[n] !== ""));
    const cell = (n, v) => make("td", { className: typeof v === "string" ? (v.length > 40 ? "long" : "text") : "" }, told(n, v));
    return make("div", { className: "scroll", tabIndex: 0 }, make("table", {}, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...names.map((n) => make("th", { scope: "col", className: typeof rows[0][n] === "string" ? "text" : "" }, n)))),
      make("tbody", {}, ...rows.slice(0, 60).map((r) => make("tr", {}, ...names.map((n) => cell(n, r[n])))))));
  }
  function findings() {
    const parts = [["sizes", "Which sizes scale: speed-up over one device by parameter bytes and FLOPs of a sample's forward pass"],
      ["speedups", "Speed-ups, with communication measured directly and by subtraction"],
      ["shares", "Shares of a step, bandwidth against the link's peak, memory"],
      ["layers", "What a sample costs in each layer at the smallest batch, at the bend (where epoch time stops falling) and at the largest, and its share of what falls"],
      ["batch_reasons", "Why a larger batch is faster on one device: seconds of a sample in compute, copies and an idle device; FLOPs a byte by the plan, FLOP/s reached; launches of a step and the operations they hold, where a record counted them"],
      ["payloads", "What a step sends, payload by payload, on rank 0: messages, bytes, bytes over its busiest link, seconds"],
      ["byte_lines", "Epoch time against the bytes an epoch sends over a link: the rate its slope reads (95 % interval), the share of the slope that one device has too, which sends nothing, and what is left for communication; beside it exposed messages, timed"],
      ["batch_lines", "Epoch time against 1/batch: offset and slope (seconds, 95 % interval)"],
      ["laws", "Laws of scaling, fitted; 95 % intervals"],
      ["saturation", "Where a larger batch on a device stops helping (samples a device; 95 % intervals)"],
      ["overfitting", "Overfitting: training less validation accuracy at the end (gap; noise of the validation set beside it), and the epoch where validation loss turns; means over runs"],
      ["seed", "What the seed published, beside this study and the prediction for the seed's own GPUs"],
      ["seed_faults", "Faults of the seed: do not read its figures without them"],
      ["claims", "What the seed claimed, and what was measured"],
      ["scores", "Each way of holding rows back, beside two simpler predictors; shares of one"],
      ["by_link", "By class of link"], ["by_gpus", "By number of GPUs"],
      ["epochs", "Epochs of calibrated systems: a model on a number of GPUs held back, seconds"]];
    const batch = doc.batch?.answer ? [["devices", "The best batch by goodput on more devices, predicted"], ["own", "Runs that chose their batch, the pilot counted"], ["choices", "Which batch: what each criterion picks"], ["rows", "Which batch: what each size did"]] : [];
    for (const [key, caption] of batch) { doc["batch_" + key] = doc.batch[key] || []; parts.unshift(["batch_" + key, caption]); }
    const some = parts.filter(([key]) => doc[key] && doc[key].length);
    $("findings").replaceChildren(...(some.length ? [make("h2", {}, "Fits and findings")] : []),
      ...some.map(([key, caption]) => table(doc[key], doc[key].length > 60 ? `${caption}; the first 60 of ${doc[key].length}` : caption)));
  }

  function runs() {
    if (!doc.rows.length) return;
    const labelled = doc.rows.some((r) => r.label), shownName = (r, n) => (n === "run" && r.label ? r.label : r[n]);
    const names = Object.keys(doc.rows[0]).filter((n) => n !== "label" && (n !== "arm" || !labelled) && doc.rows.some((r) => r[n] !== null && r[n] !== "")), want = $("filter").value.trim().toLowerCase();
    let rows = want ? doc.rows.filter((r) => names.some((n) => `${r[n] ?? ""} ${shownName(r, n) ?? ""}`.toLowerCase().includes(want))) : doc.rows;
    if (order) rows = rows.slice().sort((a, b) => order.sign * (a[order.name] > b[order.name] ? 1 : a[order.name] < b[order.name] ? -1 : 0));
    const head = make("tr", {}, ...names.map((n) => {
      const button = make("button", { type: "button" }, n + (order && order.name === n ? (order.sign > 0 ? " ↑" : " ↓") : ""));
      button.addEventListener("click", () => { order = { name: n, sign: order && order.name === n ? -order.sign : 1 }; runs(); });
      return make("th", { scope: "col", className: typeof doc.rows[0][n] === "string" ? "text" : "" }, button);
    }));
    $("runs").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows.slice(0, limit).map((r) => make("tr", {},
      ...names.map((n) => make("td", { className: typeof r[n] === "string" ? "text" : "", title: n === "run" ? r[n] : "" }, shown(shownName(r, n))))))));
    $("shown").textContent = `${Math.min(limit, rows.length)} of ${rows.length} rows`;
    $("more").hidden = rows.length <= limit;
  }

  async function draw(text) {
    doc = read(text);
    words();
    findings();
    runs();
    await figures(false);
    document.body.dataset.figures = $("figures").querySelectorAll(".main-svg").length ? $("figures").querySelectorAll(".plot").length : 0;
    document.body.dataset.ready = "yes";
  }

  function follow(query) {
    const say = (text) => { $("live").textContent = text; };
    const events = new EventSource("events" + query);
    events.onopen = () => say("live");
    events.onerror = () => say("connection lost; trying again");
    events.onmessage = async (event) => {
      const answer = await fetch("data.json" + query, { cache: "no-store" });
      if (!answer.ok) return say(`no data: ${answer.status}`);
      await draw(await answer.text());
      document.body.dataset.version = event.data;
      say(`live, updated ${new Date().toLocaleTimeString()}`);
    };
  }

  $("filter").addEventListener("input", () => { limit = PAGE_ROWS; runs(); });
  $("more").addEventListener("click", () => { limit += 10 * PAGE_ROWS; runs(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => figures(false));
  addEventListener("beforeprint", () => figures(true));
  addEventListener("afterprint", () => figures(false));
  const drawing = draw($("data").textContent);
  if (document.body.dataset.live !== undefined) drawing.then(() => follow(location.search));
})();
