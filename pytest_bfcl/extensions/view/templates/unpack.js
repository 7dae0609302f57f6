// Unpacks one entry of a static site: #run/page or #beside/entry.
(function () {
  "use strict";
  var about = JSON.parse(document.getElementById("about").textContent), parts = {}, waiting = {};
  var place = document.getElementById("entry");
  function order(name) { return name.replace(/[0-9]+/g, function (found) { return found.padStart(9, "0"); }); }
  var firsts = about.parts.map(order);
  function partOf(name) {  // parts hold neighbours: the last one that begins at the name or before it
    var low = 0, high = firsts.length, wanted = order(name);
    while (high - low > 1) {
      var middle = (low + high) >> 1;
      if (firsts[middle] <= wanted) low = middle; else high = middle;
    }
    return low;
  }
  window.bfclPart = function (number, text) {
    bfclInflate(text).then(function (found) {
      parts[number] = found;
      waiting[number].done(parts[number]);
    }, waiting[number].failed);
  };
  function load(number) {
    if (waiting[number]) return waiting[number].promise;
    var one = waiting[number] = {};
    one.promise = new Promise(function (done, failed) {
      one.done = done;
      one.failed = failed;
      var script = document.createElement("script");
      script.src = "data/" + number + ".js";
      script.onerror = failed;
      document.head.appendChild(script);
    });
    return one.promise;
  }
  function names(run, page) {  // what the entry's own name may be: a page's name also tells models and repeats apart
    var stem = page.replace(/\.html$/, ""), found = [stem];
    var plain = stem.replace(/-r\d+$/, "");
    if (plain !== stem) found.push(plain);
    (about.suffixes[run] || []).forEach(function (suffix) {
      [stem, plain].forEach(function (name) {
        if (suffix && name.slice(-suffix.length) === suffix) found.push(name.slice(0, -suffix.length));
      });
    });
    return found;
  }
  function shown(part, found) {
    var pieces = [];
    for (var i = 0; i < found[1].length; i += 2) pieces.push(part.pieces.slice(found[1][i], found[1][i] + found[1][i + 1]).join(""));
    var made = new DOMParser().parseFromString(pieces.join(""), "text/html");
    document.title = found[0];
    place.replaceChildren.apply(place, Array.prototype.map.call(made.body.childNodes, function (node) { return document.importNode(node, true); }));
    scrollTo(0, 0);
    place.dataset.shown = location.hash;
  }
  function trouble(words) {
    var main = document.createElement("main"), line = document.createElement("p");
    line.className = "notice";
    line.textContent = words;
    main.appendChild(line);
    place.replaceChildren(main);
    place.dataset.shown = location.hash;
  }
  function show() {
    var hash = location.hash.slice(1), cut = hash.indexOf("/"), run, page;
    try { run = decodeURIComponent(hash.slice(0, cut)); page = decodeURIComponent(hash.slice(cut + 1)); } catch (odd) { cut = -1; }
    if (cut < 1) { trouble("No entry is named in the address."); return; }
    var tries = run === "beside" ? [page] : names(run, page);
    (function next(number) {
      if (number === tries.length) { trouble("There is no such entry here."); return; }
      load(partOf(tries[number])).then(function (part) {
        var found = part.pages[run + "/" + page];
        if (found) shown(part, found); else next(number + 1);
      }, function () { trouble("The part with this entry cannot be loaded (folder “data”)."); });
    })(0);
  }
  addEventListener("hashchange", show);
  show();
})();
