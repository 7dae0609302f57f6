(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var E = 0, M = 1, REPEAT = 2, OUT = 3, COR = 4, TAG = 5, REASON = 6, TEXT = 7, LAT = 8, COST = 9, FLAGS = 10, FOLD = 11;
  var KNOWN = 1, DIFFERS = 2, OVERSCAN = 12;
  var body = document.getElementById("rows"), table = document.getElementById("list");
  var has = {};
  table.querySelectorAll("th[data-sort]").forEach(function (head) { has[head.dataset.sort] = true; });
  var fields = ["outcome", "category", "tag", "reason", "model"];
  var state = { q: "", differs: "", sort: "outcome", entry: "", fold: "" };
  var folded = {};  // errors alike: how many of them stand behind the one that is shown
  var shown = [], at = -1, height = 0, first = -1, last = -1;

  function $(id) { return document.getElementById(id); }
  function word(list, place) { return place < 0 ? "" : list[place]; }
  function entry(row) { return data.entries[row[E]]; }
  function stem(row, suffixes) {
    var found = entry(row);
    return (found[3] || found[0]) + suffixes[row[M]] + (row[REPEAT] > 1 ? "-r" + row[REPEAT] : "");
  }
  function isPacked(row) { return data.shard && row[OUT] > 1; }  // what failed has a file of its own
  function pageOf(row) {
    var name = encodeURIComponent(stem(row, data.suffixes));
    return isPacked(row) ? "#entry=" + name : data.place + name + ".html";
  }

  // Pages of entries that did not fail lie in shards, in the order of the rows.
  var shards = [], box = $("packed-entry");
  window.bfclShard = function (number, text) { shards[number].done(bfclInflate(text)); };
  function shard(number) {
    return (shards[number] = shards[number] || (function () {
      var one = {};
      one.found = new Promise(function (done, failed) {
        var script = document.createElement("script");
        one.done = done;
        script.src = data.place + number + ".js";
        script.onerror = failed;
        document.head.appendChild(script);
      });
      return one;
    })()).found;
  }
  function hide(entryShown) {
    box.hidden = !entryShown;
    document.querySelectorAll("body > header, body > main").forEach(function (part) { part.hidden = entryShown; });
    if (!entryShown) { box.replaceChildren(); document.title = title; }
  }
  var title = document.title;
  function open(name) {
    var at = data.rows.findIndex(function (row) { return stem(row, data.suffixes) === name || stem(row, data.slugs) === name; });
    var row = data.rows[at];
    if (!row) return false;
    if (!isPacked(row)) { location.replace(pageOf(row)); return true; }
    var same = data.rows.filter(function (each) { return each[OUT] === row[OUT]; }), place = same.indexOf(row);
    var links = { up: "#" + encodeURIComponent(entry(row)[0]), previous: same[place - 1] && pageOf(same[place - 1]), next: same[place + 1] && pageOf(same[place + 1]) };
    var number = Math.floor(data.rows.slice(0, at).filter(isPacked).length / data.shard);
    shard(number).then(function (found) {
      if (new URLSearchParams(location.hash.slice(1)).get("entry") !== name) return;
      hide(true);
      box.replaceChildren(bfclEntry(found[0][stem(row, data.suffixes)], found[1], links));
      document.title = entry(row)[0] + " \u00b7 " + data.outcomes[row[OUT]];
      scrollTo(0, 0);
      box.dataset.shown = name;
    }, function () {
      hide(true);
      box.replaceChildren(bfclTrouble("The pages of this entry are not here: " + data.place + number + ".js cannot be loaded.", links));
    });
    return true;
  }
  function text(row) {
    var found = entry(row);
    return (found[0] + "\n" + found[2] + "\n" + row[TEXT] + "\n" + word(data.reasons, row[REASON]) + "\n" + data.models[row[M]]).toLowerCase();
  }
  var texts = null;  // built when somebody first searches
  function value(row, field) {
    switch (field) {
      case "outcome": return data.outcomes[row[OUT]];
      case "category": return word(data.categories, entry(row)[1]);
      case "tag": return word(data.tags, row[TAG]);
      case "reason": return word(data.reasons, row[REASON]);
      case "model": return data.models[row[M]];
    }
  }
  function plain(id) { return id.replace(/\d+/g, function (digits) { return ("0000000" + digits).slice(-7); }); }
  var keys = {
    entry: function (row) { return plain(entry(row)[0]); },
    outcome: function (row) { return row[OUT]; },
    reason: function (row) { return word(data.reasons, row[REASON]) || "~"; },
    model: function (row) { return data.models[row[M]]; },
    corrected: function (row) { return (row[FLAGS] & DIFFERS ? 0 : 10) + row[COR]; },
    latency: function (row) { return row[LAT] === null ? Infinity : -row[LAT]; },
    cost: function (row) { return row[COST] === null ? Infinity : -row[COST]; }
  };

  function select() {
    var words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !texts) texts = data.rows.map(text);
    shown = data.rows.map(function (_, n) { return n; }).filter(function (n) {
      var row = data.rows[n];
      if (state.fold && String(row[FOLD]) !== state.fold) return false;
      if (state.differs && !(row[FLAGS] & DIFFERS)) return false;
      for (var i = 0; i < fields.length; i++) if (state[fields[i]] && value(row, fields[i]) !== state[fields[i]]) return false;
      for (var w = 0; w < words.length; w++) if (texts[n].indexOf(words[w]) < 0) return false;
      return true;
    });
    var name = state.sort.replace(/^-/, ""), back = state.sort[0] === "-" ? -1 : 1, key = keys[name] || keys.outcome;
    var made = {};
    shown.forEach(function (n) { made[n] = key(data.rows[n]); });
    shown.sort(function (a, b) { var x = made[a], y = made[b]; return x < y ? -back : x > y ? back : a - b; });
    var counts = [0, 0, 0, 0], matching = shown.length;
    shown.forEach(function (n) { counts[data.rows[n][OUT]]++; });
    fold();
    at = -1;
    if (state.entry) at = shown.findIndex(function (n) { return entry(data.rows[n])[0] === state.entry; });
    $("count").textContent = matching + " of " + data.rows.length + " entries" + (matching ? ": " + data.outcomes.map(function (name, i) {
      return counts[i] ? counts[i] + " " + (name === "error" && counts[i] > 1 ? "errors" : name) : ""; }).filter(Boolean).join(", ") : "") + (data.shortened ? "; texts are shortened here" + (data.pages ? ", the entry pages have all" : "") : "");
    table.querySelectorAll("th[data-sort]").forEach(function (cell) {
      cell.setAttribute("aria-sort", cell.dataset.sort === name ? (back > 0 ? "ascending" : "descending") : "none");
    });
    table.setAttribute("aria-rowcount", shown.length + 1);
    first = last = -1;
    draw();
  }

  function fold() {
    folded = {};
    if (state.fold || !data.folds) return;
    var firsts = {};
    shown = shown.filter(function (n) {
      var number = data.rows[n][FOLD];
      if (number === undefined) return true;
      if (firsts[number] === undefined) { firsts[number] = n; folded[n] = 0; }
      folded[firsts[number]]++;
      return firsts[number] === n;
    });
  }

  function cell(row, name, className) {
    var made = document.createElement("td");
    if (className) made.className = className;
    if (name !== undefined && name !== null) made.textContent = name;
    row.appendChild(made);
    return made;
  }
  function line(parent, tag, content, className) {
    var made = document.createElement(tag);
    made.textContent = content;
    made.className = className || "";
    parent.appendChild(made);
    return made;
  }
  function chip(parent, name) { return line(parent, "span", name, "chip " + name); }
  function make(place) {
    var row = data.rows[shown[place]], found = entry(row), made = document.createElement("tr");
    made.setAttribute("aria-rowindex", place + 2);
    made.dataset.place = place;
    if (place === at) made.className = "at";
    var id = cell(made), link = line(id, data.pages ? "a" : "span", found[0] + (row[REPEAT] > 1 ? " (repeat " + row[REPEAT] + ")" : ""), "line mono");
    if (data.pages) link.href = pageOf(row);
    link.title = found[0];
    line(id, "span", value(row, "category") + (row[FLAGS] & KNOWN ? " · known issue" : ""), "line small soft");
    chip(cell(made), data.outcomes[row[OUT]]);
    var what = cell(made);
    var alike = folded[shown[place]] || 0, said = (alike > 1 ? alike.toLocaleString("en") + " entries: " : "") + (row[TEXT] || found[2]);
    var first = line(what, "span", said, "line");
    first.title = said;
    if (alike > 1) {
      var all = document.createElement("a");
      all.textContent = "show all";
      all.href = "#fold=" + row[FOLD];
      all.className = "unfold";
      first.prepend(all, " ");
    }
    line(what, "span", row[TEXT] ? value(row, "reason") + (found[2] ? " · asked: " + found[2] : "") : "", "line small soft");
    if (has.model) cell(made, data.models[row[M]], "wide").title = data.models[row[M]];
    if (has.corrected) chip(cell(made, null, "wide"), data.outcomes[row[COR]]);
    if (has.latency) cell(made, row[LAT] === null ? "–" : row[LAT].toFixed(2) + " s", "num wide");
    if (has.cost) cell(made, row[COST] === null ? "–" : "$" + (row[COST] >= 1 ? row[COST].toFixed(2) : Number(row[COST].toPrecision(3))), "num wide");
    return made;
  }
  function space(pixels) {
    var made = document.createElement("tr"), inner = document.createElement("td");
    made.className = "space";
    made.setAttribute("aria-hidden", "true");
    inner.colSpan = table.tHead.rows[0].cells.length;
    inner.style.height = pixels + "px";
    made.appendChild(inner);
    return made;
  }
  function draw(all) {
    var held = body.contains(document.activeElement) && document.activeElement.closest("tr").dataset.place;
    if (!height && shown.length) {
      body.replaceChildren(make(0));
      height = body.firstChild.getBoundingClientRect().height || 54;
    }
    var top = table.tHead.getBoundingClientRect().bottom, from, to;
    if (all) { from = 0; to = Math.min(shown.length, 2000); }
    else {
      from = Math.max(0, Math.floor(-top / height) - OVERSCAN);
      to = Math.min(shown.length, Math.max(from, Math.ceil((innerHeight - top) / height)) + OVERSCAN);
      if (to < from) to = from = Math.min(from, shown.length);
      if (from >= first && to <= last && from - first < OVERSCAN && first >= 0 && last - to < 2 * OVERSCAN) return;
    }
    first = from; last = to;
    var parts = document.createDocumentFragment();
    if (from) parts.appendChild(space(from * height));
    for (var i = from; i < to; i++) parts.appendChild(make(i));
    if (to < shown.length && !all) parts.appendChild(space((shown.length - to) * height));
    body.replaceChildren(parts);
    if (held) {  // rows are made anew: who stands in one stays there
      var again = body.querySelector('tr[data-place="' + held + '"] a');
      if (again) again.focus({ preventScroll: true });
    }
  }
  function mark(place, scroll) {
    if (!shown.length) return;
    at = Math.max(0, Math.min(shown.length - 1, place));
    if (scroll) {
      var top = table.tHead.getBoundingClientRect().bottom + at * height, bar = document.querySelector(".filters").getBoundingClientRect().height;
      if (top < bar + 10) scrollBy({ top: top - bar - 10, behavior: "instant" });
      else if (top + height > innerHeight) scrollBy({ top: top + height - innerHeight + 10, behavior: "instant" });
    }
    first = -1;
    draw();
    var row = body.querySelector('tr[data-place="' + at + '"] a');
    if (row && scroll) row.focus({ preventScroll: true });
  }

  // Filters live in the address, so that a view can be linked to.
  function toHash() {
    var parts = new URLSearchParams();
    fields.concat("q", "differs").forEach(function (name) { if (state[name]) parts.set(name, state[name]); });
    if (state.fold) parts.set("fold", state.fold);
    if (state.sort !== "outcome") parts.set("sort", state.sort);
    var hash = parts.toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  }
  function fromHash() {
    if (data.shard && data.pages) {
      var named = new URLSearchParams(location.hash.slice(1)).get("entry");
      if (named && open(named)) return;
      if (!box.hidden) hide(false);
    }
    var hash = location.hash.slice(1), parts = new URLSearchParams(hash.indexOf("=") > 0 ? hash : ""), jump = hash.indexOf("=") > 0;
    fields.forEach(function (name) { state[name] = parts.get(name) || ""; });
    state.q = parts.get("q") || "";
    state.differs = parts.get("differs") || "";
    state.fold = parts.get("fold") || "";
    state.sort = parts.get("sort") || "outcome";
    named = "";
    try { named = decodeURIComponent(hash); } catch (error) { /* not ours */ }
    state.entry = data.entries.some(function (found) { return found[0] === named; }) ? named : "";
    var linked = state.entry ? data.rows.find(function (row) { return entry(row)[0] === named; }) : undefined;
    if (linked && linked[FOLD] !== undefined) state.fold = String(linked[FOLD]);
    toControls();
    select();
    if (state.entry) { $("entries").scrollIntoView({ behavior: "instant" }); mark(at, true); state.entry = ""; }
    else if (jump) $("entries").scrollIntoView({ behavior: "instant" });
  }
  function toControls() {
    fields.forEach(function (name) { $("f-" + name).value = state[name]; });
    $("q").value = state.q;
    $("f-differs").checked = !!state.differs;
  }
  function changed() { toHash(); select(); }

  function options(name, values) {
    var box = $("f-" + name), counts = {};
    data.rows.forEach(function (row) { var found = value(row, name); if (found) counts[found] = (counts[found] || 0) + 1; });
    box.add(new Option({ outcome: "any outcome", category: "any category", tag: "any tag", reason: "any reason", model: "any model" }[name], ""));
    values.forEach(function (found) { if (counts[found]) box.add(new Option(found + " (" + counts[found] + ")", found)); });
    box.addEventListener("change", function () { state[name] = box.value; changed(); });
  }
  options("outcome", data.outcomes);
  options("category", data.categories);
  options("tag", data.tags);
  options("reason", data.reasons.slice().sort());
  options("model", data.models);
  var waiting = 0;
  $("q").addEventListener("input", function () {
    clearTimeout(waiting);
    waiting = setTimeout(function () { state.q = $("q").value; changed(); }, 80);
  });
  $("f-differs").addEventListener("change", function () { state.differs = this.checked ? "1" : ""; changed(); });
  function clear() {
    fields.forEach(function (name) { state[name] = ""; });
    state.q = state.differs = state.fold = "";
    state.sort = "outcome";
    toControls();
    changed();
  }
  $("clear").addEventListener("click", clear);
  table.tHead.addEventListener("click", function (event) {
    var head = event.target.closest("th[data-sort]");
    if (!head) return;
    state.sort = state.sort === head.dataset.sort ? "-" + head.dataset.sort : head.dataset.sort;
    changed();
  });
  body.addEventListener("click", function (event) {
    var row = event.target.closest("tr[data-place]");
    if (row && !event.target.closest("a")) mark(Number(row.dataset.place), false);
  });
  body.addEventListener("dblclick", function (event) {
    var row = event.target.closest("tr[data-place]");
    if (row && data.pages) location.href = pageOf(data.rows[shown[row.dataset.place]]);
  });
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!box.hidden) {
      var link = box.querySelector({ Escape: "#up", j: "#next", k: "#previous" }[event.key] || "none");
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    var typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "Escape") {
      if (typing && event.target.id === "q" && !state.q && !$("q").value) event.target.blur();
      else clear();
    } else if (typing) {
      if (event.key === "Enter" && event.target.id === "q") { event.preventDefault(); mark(0, true); }
    } else if (event.key === "/") { event.preventDefault(); $("q").focus(); $("q").select(); }
    else if (event.key === "j" || event.key === "k") {
      event.preventDefault();
      mark(at < 0 ? 0 : at + (event.key === "j" ? 1 : -1), true);
    } else if (event.key === "Enter" && at >= 0 && data.pages && !/^(A|BUTTON|SUMMARY)$/.test(event.target.tagName)) location.href = pageOf(data.rows[shown[at]]);
  });
  var framed = false;
  function later() { if (!framed) { framed = true; requestAnimationFrame(function () { framed = false; draw(); }); } }
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", function () { height = 0; first = -1; later(); });
  document.querySelectorAll("details").forEach(function (each) { each.addEventListener("toggle", later); });
  addEventListener("beforeprint", function () { draw(true); });
  addEventListener("afterprint", function () { first = -1; draw(); });
  function unfold() {  // a link into a folded part opens it
    var part = document.getElementById(location.hash.slice(1)), inside = part;
    for (; part; part = part.parentElement) { if (part.tagName === "DETAILS") { part.open = true; } }
    if (inside && inside.closest("details")) { inside.scrollIntoView(); }
  }
  addEventListener("hashchange", fromHash);
  addEventListener("hashchange", unfold);
  fromHash();
  unfold();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
