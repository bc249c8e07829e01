// Filters the rows. The address keeps the filters, and a requirement's id in it leads to its row.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll("tr.row")];
  const words = new Map(rows.map((row) => [row, row.querySelector("th").textContent.toLowerCase()]));

  const apply = () => {
    const wanted = new FormData(form);
    const text = (wanted.get("text") || "").trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits =
        words.get(row).includes(text) &&
        (!wanted.get("document") || row.dataset.document === wanted.get("document")) &&
        (!wanted.get("level") || row.dataset.level === wanted.get("level")) &&
        (!wanted.get("differences") || "differs" in row.dataset);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    for (const part of document.querySelectorAll("table.matrix tbody")) part.hidden = !part.querySelector("tr.row:not([hidden])");
    document.getElementById("nothing").hidden = shown > 0;
    form.querySelector(".matches").textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
  };

  const toAddress = () => {
    const set = [...new FormData(form)].filter(([, value]) => value.trim() !== "");
    history.replaceState(null, "", set.length ? `#${new URLSearchParams(set)}` : location.pathname + location.search);
  };

  const fromAddress = () => {
    const fragment = location.hash.slice(1);
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(fragment));
    } catch {
      // A broken escape names no row.
    }
    const wanted = target ? new URLSearchParams() : new URLSearchParams(fragment);
    for (const name of ["text", "document", "level"]) form.elements[name].value = wanted.get(name) || "";
    form.elements.differences.checked = wanted.has("differences");
    apply();
    if (target) target.scrollIntoView({ block: "center", behavior: "instant" });
  };

  form.addEventListener("input", () => {
    apply();
    toAddress();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
})();
