// Filters the results, draws timelines when their cases are opened, and shows what an event changed.
// Whatever comes from a run is put in as text, never as HTML.
"use strict";
(() => {
  const KINDS = {
    noCopy: "no copy",
    twoCopies: "two copies",
    twoCopiesGracefully: "two copies, as Gracefully wants it",
  };
  const detail = document.getElementById("detail");

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const icon = (name, extra = "") => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", `icon ${extra}`.trim());
    svg.setAttribute("aria-hidden", "true");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    use.setAttribute("href", `#w-${name}`);
    svg.append(use);
    return svg;
  };
  const secs = (time) => `${time.toFixed(3)} s`;

  // Filters -----------------------------------------------------------------------------------------------------------
  for (const form of document.querySelectorAll("form[data-filters]")) {
    const section = form.closest("section");
    const items = [...section.querySelectorAll("[data-state]")];
    const nothing = section.querySelector(".nothing");
    const words = new Map();
    const apply = () => {
      const states = new Set([...form.querySelectorAll("[name=state]:checked")].map((box) => box.value));
      const wanted = form.elements.text.value.trim().toLowerCase();
      let shown = 0;
      // What is folded is searched too.
      section.querySelector("table")?.classList.toggle("searching", wanted !== "");
      for (const item of items) {
        if (wanted && !words.has(item)) {
          const about = item.matches("tr") ? item : item.querySelector("summary");
          const ids = item.querySelector(".about");
          words.set(item, `${about.textContent} ${ids ? ids.textContent : ""}`.toLowerCase());
        }
        const fits = states.has(item.dataset.state) && (!wanted || words.get(item).includes(wanted));
        item.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      nothing.hidden = shown > 0;
      form.querySelector(".matches").textContent = shown === items.length ? "" : `${shown} of ${items.length}`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  const fold = (button, folded) => {
    button.setAttribute("aria-expanded", String(!folded));
    document.getElementById(button.dataset.fold).classList.toggle("folded", folded);
  };
  for (const button of document.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => fold(button, button.getAttribute("aria-expanded") === "true"));
  }

  // Timelines ---------------------------------------------------------------------------------------------------------
  // Timelines of a bundle by the key of their case. A bundle is decompressed once, when it is first needed.
  const bundles = new Map();
  const bundle = (number) => {
    if (!bundles.has(number)) bundles.set(number, unpack(document.getElementById(`bundle-${number}`).textContent));
    return bundles.get(number);
  };
  const unpack = async (text) => {
    const compressed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const source = new ReadableStream({
      start(controller) {
        controller.enqueue(compressed);
        controller.close();
      },
    });
    const stream = source.pipeThrough(new DecompressionStream("deflate"));
    const { texts, timelines } = await new Response(stream).json();
    for (const timeline of Object.values(timelines)) {
      let [milliseconds, entry] = [0, 0];
      for (const event of timeline.events) {
        event.at = (milliseconds += event.at) / 1000;
        event.entry = entry += event.entry;
        for (const field of ["what", "text", "object", "by"]) if (field in event) event[field] = texts[event[field]];
        event.changes = event.changes?.map((change) => change.map((it) => (it === null ? null : texts[it])));
      }
    }
    return timelines;
  };

  // Timelines of charts that are drawn, or will be as soon as their bundle is decompressed.
  const charts = new Map();
  const draw = (chart) => {
    if (!charts.has(chart)) charts.set(chart, drawChart(chart));
    return charts.get(chart);
  };
  const drawChart = async (chart) => {
    let timeline;
    try {
      timeline = (await bundle(chart.dataset.bundle))[chart.closest(".case").id];
    } catch (error) {
      const remedy = "Open the page in a current browser, or render it again.";
      chart.append(make("p", { class: "rest" }, `The timeline cannot be decompressed: ${error.message}. ${remedy}`));
      return undefined;
    }
    const grid = make("div", { class: "lanes", style: `--lanes: ${timeline.lanes.length}` });
    const last = timeline.events.length + 2;
    grid.style.gridTemplateRows = `auto repeat(${timeline.events.length}, auto)`;
    drawGround(grid, timeline, last);
    drawTimes(grid, timeline);
    timeline.lanes.forEach((lane, number) => grid.append(drawLane(chart, timeline, lane, number)));
    chart.append(grid);
    if (timeline.windows.length) chart.append(drawWindows(timeline));
    const rest = `${timeline.leftOut} other entries are on the timeline and not drawn.`;
    if (timeline.leftOut) chart.append(make("p", { class: "rest" }, rest));
    const first = grid.querySelector(".event");
    if (first) first.tabIndex = 0;
    return timeline;
  };

  const laneName = (lane) => (lane.name === "control" ? "control plane" : lane.name === "case" ? "the case" : lane.name);

  const drawGround = (grid, timeline, last) => {
    const style = (from, to, lane = 0) => `--from: ${from}; --to: ${to}; --lane: ${lane}`;
    grid.append(make("div", { class: "head fill", style: "grid-column: 1 / 3", "aria-hidden": "true" }, "time"));
    timeline.lanes.forEach((lane, number) => {
      const head = make("div", { class: "head", style: `grid-column: ${number + 3}`, "aria-hidden": "true" }, laneName(lane));
      if (lane.roles) head.append(" ", make("small", {}, lane.roles.join(", ")));
      const stripe = `stripe${number === 0 ? " first" : ""}`;
      grid.append(head, make("div", { class: stripe, style: `grid-column: ${number + 3}`, "aria-hidden": "true" }));
    });
    for (const window of timeline.windows) {
      const place = style(window.from + 2, window.to === undefined ? last : window.to + 2);
      grid.append(make("div", { class: `window ${window.kind}`, style: place, "aria-hidden": "true" }));
      grid.append(make("div", { class: `shade ${window.kind}`, style: place, "aria-hidden": "true" }));
    }
    // A bar from the creation of a copy to its end.
    const alive = new Map();
    const bar = (born, to, extra = "") =>
      grid.append(make("div", { class: `life${extra}`, style: style(born.index + 2, to, born.lane), "aria-hidden": "true" }));
    timeline.events.forEach((event, index) => {
      if (timeline.lanes[event.lane].name === "control" || !event.object) return;
      if (event.what === "create") alive.set(event.object, { index, lane: event.lane });
      if (event.what === "gone" && alive.has(event.object)) {
        bar(alive.get(event.object), index + 3);
        alive.delete(event.object);
      }
    });
    for (const born of alive.values()) bar(born, last, " to-end");
  };

  const drawTimes = (grid, timeline) => {
    let before = null;
    timeline.events.forEach((event, index) => {
      if (event.at === before) return;
      const row = `--row: ${index + 2}`;
      if (before !== null) grid.append(make("div", { class: "jump", style: row, "aria-hidden": "true" }));
      grid.append(make("div", { class: "moment", style: row, "aria-hidden": "true" }, secs(event.at)));
      before = event.at;
    });
  };

  const drawLane = (chart, timeline, lane, number) => {
    const name = [laneName(lane), ...(lane.roles || [])].join(", ");
    const list = make("ol", { class: "lane", "aria-label": name, style: `--lane: ${number}` });
    timeline.events.forEach((event, index) => {
      if (event.lane !== number) return;
      const found = event.findings ? " found" : "";
      const label = `${secs(event.at)}, ${event.text}${found ? ", finding" : ""}`;
      const button = make(
        "button",
        { class: `event ${event.what}${found}`, type: "button", tabindex: "-1", "aria-label": label, "data-index": index },
        icon(event.what),
        make("span", {}, event.text),
      );
      if (found) button.append(icon("finding", "flag"));
      const show = () => tell(chart, timeline, event, button);
      button.addEventListener("focus", show);
      button.addEventListener("mouseenter", show);
      button.addEventListener("click", show);
      // A lane's rows begin below the heads.
      list.append(make("li", { style: `--row: ${index + 1}; --lane: ${number}` }, button));
    });
    return list;
  };

  const drawWindows = (timeline) => {
    const list = make("ul", { class: "windows", "aria-label": "Times without a copy, or with two" });
    for (const window of timeline.windows) {
      const from = secs(timeline.events[window.from].at);
      const words =
        window.to === undefined
          ? `${KINDS[window.kind]} of ${window.workload} from ${from} to the end`
          : `${KINDS[window.kind]} of ${window.workload} for ${secs(window.secs)}, from ${from}`;
      // A lane's rows begin below the heads.
      list.append(make("li", { class: window.kind }, make("span", { class: "swatch", "aria-hidden": "true" }), words));
    }
    return list;
  };

  // What an event changed ---------------------------------------------------------------------------------------------
  let current = null;
  const tell = (chart, timeline, event, button) => {
    if (current) current.classList.remove("current");
    current = button;
    button.classList.add("current");
    const close = make("button", { class: "close", type: "button", "aria-label": "Close" }, "✕");
    close.addEventListener("click", hide);
    const where = event.object || laneName(timeline.lanes[event.lane]);
    const by = event.by ? `, written by ${event.by}` : "";
    detail.replaceChildren(
      close,
      make("h3", {}, event.text),
      make("p", {}, `${secs(event.at)}, entry ${event.entry}, ${where}${by}`),
    );
    const key = chart.closest(".case").id;
    for (const number of event.findings || []) {
      const finding = document.getElementById(`${key}-finding-${number}`);
      if (finding) detail.append(make("p", { class: "why" }, finding.querySelector("h3").textContent.trim()));
    }
    if (event.changes) detail.append(drawChanges(event));
    else if (event.object) detail.append(make("p", {}, "Nothing in the object changed."));
    detail.hidden = false;
  };

  const drawChanges = (event) => {
    const list = make("ul", { class: "diff", "aria-label": "What changed" });
    for (const [path, before, after] of event.changes) {
      const line = make("li", {}, make("span", { class: "path" }, path));
      if (before !== null) line.append(make("del", {}, before));
      if (after !== null) line.append(make("ins", {}, after));
      list.append(line);
    }
    if (event.more) list.append(make("li", { class: "path" }, `and ${event.more} more`));
    return list;
  };

  const hide = () => {
    detail.hidden = true;
    if (current) current.classList.remove("current");
    current = null;
  };

  // The keyboard ------------------------------------------------------------------------------------------------------
  const moveTo = (from, to) => {
    if (!to) return;
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  };
  const neighbour = (button, key) => {
    const lane = button.closest(".lane");
    const along = [...lane.querySelectorAll(".event")];
    const place = along.indexOf(button);
    if (key === "ArrowUp") return along[place - 1];
    if (key === "ArrowDown") return along[place + 1];
    if (key === "Home") return along[0];
    if (key === "End") return along[along.length - 1];
    const lanes = [...lane.parentElement.querySelectorAll(".lane")].filter((it) => it.querySelector(".event"));
    const next = lanes[lanes.indexOf(lane) + (key === "ArrowRight" ? 1 : -1)];
    if (!next) return undefined;
    const distance = (it) => Math.abs(it.dataset.index - button.dataset.index);
    return [...next.querySelectorAll(".event")].reduce((best, it) => (distance(it) < distance(best) ? it : best));
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const button = event.target.closest && event.target.closest(".event");
    if (!button || !["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    moveTo(button, neighbour(button, event.key));
  });

  // Opening -----------------------------------------------------------------------------------------------------------
  const drawIn = (details) => details.querySelectorAll(".chart").forEach(draw);
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    target.hidden = false;
    const folded = target.closest(".folded");
    if (folded) {
      fold(document.querySelector(`[data-fold="${folded.id}"]`), false);
      target.scrollIntoView({ behavior: "instant" });
    }
    if (target.matches("details.case")) {
      target.open = true;
      target.scrollIntoView({ behavior: "instant" });
    }
  };
  for (const details of document.querySelectorAll("details.case")) {
    details.addEventListener("toggle", () => details.open && drawIn(details));
    if (details.open) drawIn(details);
  }
  const goTo = async (details, entry) => {
    const chart = details.querySelector(".chart");
    const timeline = chart && (await draw(chart));
    if (!timeline) return;
    // An entry that is not drawn shows at the last one before it.
    const index = timeline.events.findLastIndex((it) => it.entry <= Number(entry));
    const button = chart.querySelector(`.event[data-index="${index}"]`);
    if (!button) return;
    moveTo(chart.querySelector('.event[tabindex="0"]') || button, button);
    button.scrollIntoView({ block: "center", behavior: "instant" });
  };
  for (const button of document.querySelectorAll(".goto")) {
    button.addEventListener("click", () => goTo(button.closest(".case"), button.dataset.entry));
  }
  // A defect leads to the moment of its clearest case at which it shows.
  for (const link of document.querySelectorAll("a[data-entry]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      history.pushState(null, "", link.hash);
      openTarget();
      goTo(document.getElementById(link.hash.slice(1)), link.dataset.entry);
    });
  }
  window.addEventListener("hashchange", openTarget);
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details.case.deviates, details.defect")) details.open = true;
    document.querySelectorAll("details.case[open]").forEach(drawIn);
  });
  openTarget();
  // Printing does not wait for a decompression, and opens the cases that deviate.
  const deviating = [...document.querySelectorAll("details.case.deviates .chart")];
  const prepare = () => new Set(deviating.map((chart) => chart.dataset.bundle)).forEach((it) => bundle(it).catch(() => {}));
  window.addEventListener("load", prepare);
})();
