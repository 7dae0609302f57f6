// Keys, help, the table of runs, parts fetched when they are opened, live figures. No library, nothing inline.
(function () {
  "use strict";
  function $(id) { return document.getElementById(id); }
  function all(wanted, act, root) { Array.prototype.forEach.call((root || document).querySelectorAll(wanted), act); }

  // Every link with data-key is a key; the help lists those of the page.
  var OTHERS = [["/", "search"], ["j k", "next, previous of the list or of the same outcome"], ["Esc", "clear, or up"], ["?", "this help"]];
  function help() {
    var box = $("keyhelp"), body = box.querySelector("tbody");
    body.replaceChildren();
    var rows = [], known = {};
    all("[data-key]", function (link) {
      if (!known[link.dataset.key]) rows.push([link.dataset.key.replace("Escape", "Esc"), link.dataset.help]);
      known[link.dataset.key] = true;
    });
    rows = rows.concat(OTHERS.filter(function (row) { return row[0] !== "Esc" || !known.Escape; }));
    rows.forEach(function (row) {
      var made = body.insertRow(), key = document.createElement("kbd");
      key.textContent = row[0];
      made.insertCell().appendChild(key);
      made.insertCell().textContent = row[1];
    });
    box.showModal();
  }
  if ($("help")) $("help").addEventListener("click", help);
  if ($("keyhelp-close")) $("keyhelp-close").addEventListener("click", function () { $("keyhelp").close(); });
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox") return;
    if ($("keyhelp").open) return;
    if (event.key === "?") { event.preventDefault(); help(); return; }
    if (event.key === "/" && $("find")) { event.preventDefault(); $("find").focus(); return; }
    var found = null;
    all("[data-key]", function (link) { if (!found && link.dataset.key === event.key) found = link; });
    if (found) { event.preventDefault(); if (found.href) location.href = found.href; else found.click(); }
  });

  var fixed = document.body.dataset.static === "1";  // files, no server: only what was written is there

  // The table of runs: filters live in the address.
  var runs = $("runs");
  if (runs && $("grouped")) {
    var bar = document.querySelector(".filters"), selects = [$("by-data"), $("by-model"), $("by-state")];
    bar.hidden = false;
    var read = function () {
      var parts = new URLSearchParams(location.hash.slice(1));
      $("find").value = parts.get("q") || "";
      selects.forEach(function (select) { select.value = parts.get(select.dataset.column) || ""; });
      $("grouped").checked = parts.get("group") === "1";
    };
    var write = function () {
      var parts = new URLSearchParams();
      if ($("find").value) parts.set("q", $("find").value);
      selects.forEach(function (select) { if (select.value) parts.set(select.dataset.column, select.value); });
      if ($("grouped").checked) parts.set("group", "1");
      history.replaceState(null, "", parts.toString() ? "#" + parts : location.pathname + location.search);
    };
    var group = function () {
      var body = runs.tBodies[0];
      all("tr.model-head", function (row) { row.remove(); }, body);
      if (!$("grouped").checked) return;
      var models = {};
      all("tr[data-run]", function (row) { (models[row.dataset.model] = models[row.dataset.model] || []).push(row); }, body);
      Object.keys(models).sort().forEach(function (name) {
        var head = document.createElement("tr"), cell = document.createElement("th");
        head.className = "model-head";
        cell.colSpan = runs.tHead.rows[0].cells.length;
        cell.scope = "rowgroup";
        var shown = models[name].filter(function (row) { return !row.hidden; }).length;
        cell.textContent = (name || "no results yet") + " (" + shown + ")";
        head.hidden = !shown;
        head.appendChild(cell);
        body.appendChild(head);
        models[name].forEach(function (row) { body.appendChild(row); });
      });
    };
    var apply = function () {
      var words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0, total = 0;
      all("tr[data-run]", function (row) {
        var text = row.textContent.toLowerCase();
        var fits = words.every(function (word) { return text.indexOf(word) >= 0; }) &&
          selects.every(function (select) { return !select.value || row.dataset[select.dataset.column] === select.value; });
        row.hidden = !fits;
        shown += fits; total += 1;
      }, runs);
      $("count").textContent = shown === total ? total + " lines" : shown + " of " + total + " lines";
      group();
    };
    var changed = function () { write(); apply(); };
    $("find").addEventListener("input", changed);
    selects.concat($("grouped")).forEach(function (each) { each.addEventListener("change", changed); });
    runs.addEventListener("sorted", group);
    addEventListener("hashchange", function () { read(); apply(); });
    var picked = function () {
      var names = [];
      all("input.pick:checked", function (box) { if (names.indexOf(box.value) < 0) names.push(box.value); }, runs);
      return names;
    };
    runs.addEventListener("change", function () { $("compare").disabled = picked().length !== 2; });
    $("compare").addEventListener("click", function () {
      var names = picked();
      location.href = "compare/" + encodeURIComponent(names[1]) + "/" + encodeURIComponent(names[0]) + ".html";
    });
    read();
    apply();
  }
  if (fixed && $("compare")) $("compare").hidden = true;
  if ($("choose") && !fixed) {
    $("choose").hidden = false;
    $("go").addEventListener("click", function () {
      location.href = encodeURIComponent($("before").value) + "/" + encodeURIComponent($("after").value) + ".html";
    });
  }

  // Parts that are fetched when they are opened: two answers side by side on a comparison.
  document.addEventListener("toggle", function (event) {
    var part = event.target.open && event.target.querySelector && event.target.querySelector("[data-part]");
    if (!part || part.dataset.asked) return;
    part.dataset.asked = "1";
    fetch(part.dataset.part, { credentials: "omit" }).then(function (answer) {
      if (!answer.ok) throw new Error(answer.status);
      return answer.text();
    }).then(function (text) {
      var made = new DOMParser().parseFromString(text, "text/html").querySelector(".sbs");
      if (made) part.replaceChildren(document.importNode(made, true));
    }).catch(function () { part.textContent = "It cannot be fetched now."; delete part.dataset.asked; });
  }, true);

  // A run that goes on: figures come as events, already as text.
  var live = $("live");
  if (live && window.EventSource) {
    var source = new EventSource(live.dataset.events);
    source.addEventListener("figures", function (event) {
      var made = new DOMParser().parseFromString(event.data, "text/html").body;
      live.replaceChildren.apply(live, Array.prototype.map.call(made.childNodes, function (node) { return document.importNode(node, true); }));
      live.dataset.updates = String(Number(live.dataset.updates || 0) + 1);
    });
    source.addEventListener("ended", function () { source.close(); live.dataset.ended = "1"; });
    addEventListener("pagehide", function () { source.close(); });
  }
  document.documentElement.dataset.shown = "1";
})();
